"""Pictures of samples: as many as asked for, with ellipses where there is a covariance."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from mmengine.config import Config
from mmengine.registry import init_default_scope

from hetpose.apis.data.browse import browse, draw_sample, drawable_dataset, factor_of
from hetpose.errors import UserError

init_default_scope('mmpose')
CODEC = dict(type='SoftArgmaxCodec', input_size=(64, 64), heatmap_size=(16, 16))
PIPELINE = [
    dict(type='LoadImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='CovarianceTopdownAffine', input_size=(64, 64)),
    dict(type='CovarianceRandomAffine'),
    dict(type='GenerateTarget', encoder=CODEC),
    dict(type='PackPoseInputs'),
]
DATA = dict(type='SyntheticPose', length=5, image_size=64, pipeline=PIPELINE)
CONFIG = Config(dict(train_dataloader=dict(dataset=DATA)))


def test_pictures_are_written(tmp_path) -> None:
    paths = browse(CONFIG, tmp_path, number=3, progress=False)
    assert [path.name for path in paths] == [f'train_00000{i}.png' for i in (0, 2, 4)]
    assert cv2.imread(str(paths[0])).shape == (384, 384, 3)
    assert len(browse(CONFIG, tmp_path / 'all', number=50, progress=False)) == 5


def test_ellipses_are_drawn_where_there_is_a_covariance() -> None:
    dataset = drawable_dataset(CONFIG, 'train')
    results = dataset[1]
    bare = {key: value for key, value in results.items() if 'factor' not in key}
    with_ellipses = draw_sample(results, dataset.metainfo, None, 0.9).astype(int)
    without = draw_sample(bare, dataset.metainfo, None, 0.9).astype(int)
    assert np.abs(with_ellipses - without).sum(-1).astype(bool).mean() > 0.01
    larger = draw_sample(results, dataset.metainfo, 'true', 0.999).astype(int)
    assert np.abs(larger - with_ellipses).any()


def test_bad_requests_are_named(tmp_path) -> None:
    with pytest.raises(UserError, match='carry no pseudo covariance'):
        browse(CONFIG, tmp_path, which='pseudo', progress=False)
    with pytest.raises(UserError, match='has no val_dataloader'):
        browse(CONFIG, tmp_path, split='val')
    with pytest.raises(UserError, match='--num must be'):
        browse(CONFIG, tmp_path, number=0)
    assert factor_of({}, None, '') is None
