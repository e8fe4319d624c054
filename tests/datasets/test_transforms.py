"""A pipeline that would leave a stale Σ does not build; an unreadable image has a name."""

from __future__ import annotations

import numpy as np
import pytest
from helpers_transforms import make_sample
from mmcv.transforms import BaseTransform
from mmengine.registry import init_default_scope
from mmpose.registry import DATASETS, TRANSFORMS

from hetpose.datasets.pose import MergedDataset, PseudoLabelDataset, SyntheticPose
from hetpose.datasets.transforms import CovarianceRandomFlip, LoadPoseImage, check_pipeline
from hetpose.errors import UserError

init_default_scope('mmpose')
LOAD = [dict(type='LoadImage'), dict(type='GetBBoxCenterScale')]
CROP = dict(type='CovarianceTopdownAffine', input_size=(64, 64))
CODEC = dict(type='SoftArgmaxCodec', input_size=(64, 64), heatmap_size=(16, 16))
TARGET = [dict(type='GenerateTarget', encoder=CODEC), dict(type='PackPoseInputs')]
PIXELS = dict(type='Albumentation', transforms=[dict(type='Blur', blur_limit=3, p=0.5)])
MOVING = dict(
    type='Albumentation',
    transforms=[dict(type='OneOf', transforms=[dict(type='HorizontalFlip', p=1.0)], p=1.0)],
)
FLIP, OURS = dict(type='RandomFlip'), dict(type='CovarianceRandomFlip')

GOOD = {
    'all': [
        *LOAD,
        OURS,
        dict(type='RandomHalfBody'),
        dict(type='RandomBBoxTransform'),
        PIXELS,
        dict(type='PhotometricDistortion'),
        CROP,
        dict(type='CovarianceRandomAffine'),
        *TARGET,
    ],
    'wrapped': [*LOAD, dict(type='RandomApply', transforms=[OURS], prob=0.5), CROP],
    'chosen': [*LOAD, dict(type='RandomChoice', transforms=[[OURS], [OURS]]), CROP],
    'empty': [],
}
BAD = {
    'RandomFlip would leave': [*LOAD, FLIP, CROP],
    'use CovarianceTopdownAffine': [*LOAD, dict(type='TopdownAffine', input_size=(64, 64))],
    'use CovarianceRandomAffine': [*LOAD, MOVING, CROP],
    'KeypointConverter would': [
        dict(type='KeypointConverter', num_keypoints=14, mapping=[(0, 0)]),
        CROP,
    ],
    'before the top-down crop': [*LOAD, CROP, OURS],
    'belongs after CovarianceTopdownAffine': [*LOAD, dict(type='CovarianceRandomAffine')],
    'RandomFlip would leave ': [*LOAD, dict(type='RandomApply', transforms=[FLIP]), CROP],
    'RandomFlip would leave  ': [*LOAD, dict(type='RandomChoice', transforms=[[OURS], [FLIP]])],
    'BottomupRandomAffine': [dict(type='BottomupRandomAffine', input_size=(64, 64))],
}


@pytest.mark.parametrize('name', list(GOOD))
def test_a_safe_pipeline_builds_and_runs(name: str) -> None:
    sample = SyntheticPose(length=2, image_size=64, pipeline=GOOD[name])[1]
    assert sample is not None


@pytest.mark.parametrize('message', list(BAD))
def test_a_pipeline_that_would_leave_sigma_behind_does_not_build(message: str) -> None:
    pipeline = BAD[message]
    inner = dict(type='SyntheticPose', length=2, image_size=64)
    for config in (
        dict(inner, pipeline=pipeline),
        dict(type='PseudoLabelDataset', dataset=inner, pipeline=pipeline),
        dict(type='MergedDataset', datasets=[inner, inner], pipeline=pipeline),
    ):
        with pytest.raises(UserError, match=message.strip()):
            DATASETS.build(config)


def test_a_data_set_without_covariance_may_use_any_transform() -> None:
    plain = dict(type='SyntheticPose', length=2, image_size=64, supply_truth=False)
    for kind in (PseudoLabelDataset, MergedDataset):
        argument = dict(dataset=plain) if kind is PseudoLabelDataset else dict(datasets=[plain])
        sample = kind(**argument, pipeline=[*LOAD, FLIP, CROP])[0]
        assert 'true_factor' not in sample


def test_a_subclass_has_to_declare_itself() -> None:
    class Shear(CovarianceRandomFlip):
        pass

    class Own(BaseTransform):
        covariance_safe = True

        def transform(self, results):
            return results

    check_pipeline([Own()])
    with pytest.raises(UserError, match='Shear would leave'):
        check_pipeline([Shear()])


def test_unreadable_images(tmp_path, caplog) -> None:
    junk = tmp_path / 'junk.jpg'
    junk.write_bytes(b'not an image')
    for path in (junk, tmp_path / 'absent.jpg'):
        with pytest.raises(UserError, match=f'cannot read image: {path}'):
            LoadPoseImage()(dict(img_path=str(path)))
        loader = LoadPoseImage(on_error='skip')
        assert loader(dict(img_path=str(path))) is None
        assert loader.skipped == 1
    image = np.zeros((4, 5, 3), np.uint8)
    assert LoadPoseImage()(dict(img=image))['img_shape'] == (4, 5)
    with pytest.raises(ValueError, match='on_error'):
        LoadPoseImage(on_error='ignore')


def test_every_transform_is_registered() -> None:
    for name in ('CovarianceRandomFlip', 'CovarianceTopdownAffine', 'CovarianceRandomAffine'):
        assert TRANSFORMS.get(name) is not None
    assert make_sample()['pseudo_factor'].shape == (1, 28, 28)
