"""Training from stored views sees the values that the images themselves would have given."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmpose.registry import DATASETS, MODELS

from hetpose.apis.data.feature_views import write_views
from hetpose.datasets.pose.pseudo_label_file import (
    PseudoLabelFile,
    label_digest,
    pack_symmetric,
    sample_id,
)
from hetpose.datasets.pose.wrappers import joint_names
from hetpose.errors import UserError
from tests.datasets.pose.test_lsp import make_lspet

init_default_scope('mmpose')
CODEC = dict(type='SoftArgmaxCodec', input_size=(64, 64), heatmap_size=(8, 8), sigma=1.0, stride=8)
SPATIAL = [
    dict(type='LoadPoseImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='CovarianceTopdownAffine', input_size=(64, 64), use_udp=True),
    dict(type='CovarianceRandomAffine', flip_prob=1.0),
]
TARGETS = [dict(type='GenerateTarget', encoder=CODEC), dict(type='PackPoseInputs')]
MODEL = dict(
    type='TopdownPoseEstimator',
    data_preprocessor=dict(
        type='FeaturePreprocessor', mean=[127.5] * 3, std=[127.5] * 3, bgr_to_rgb=True
    ),
    backbone=dict(type='MoveNet', width=0.25),
    neck=dict(type='PyramidFusion', in_channels=(64, 32, 24, 24), channels=8),
    head=dict(
        type='HeteroscedasticHead',
        in_channels=8,
        out_channels=14,
        deconv_out_channels=None,
        decoder=CODEC,
        covariance=dict(type='FactorCovariance', floor=1e-2),
        objective=dict(type='NLLObjective'),
    ),
    test_cfg=dict(flip_test=True),
)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    make_lspet(tmp_path / 'lspet')
    torch.manual_seed(0)
    weights = tmp_path / 'backbone.pth'
    torch.save(dict(state_dict=MODELS.build(MODEL['backbone']).state_dict()), weights)
    people = dict(type='LSPETDataset', data_root=str(tmp_path / 'lspet'))
    views = dict(type='FeatureViewDataset', dataset=people, pipeline=TARGETS)
    model = dict(MODEL)
    model['backbone'] = dict(
        MODEL['backbone'], init_cfg=dict(type='Pretrained', checkpoint=str(weights))
    )
    return Config(
        dict(
            model=model,
            train_pipeline=SPATIAL,
            train_dataloader=dict(
                dataset=dict(views, folder=str(tmp_path / 'train'), views=2, file=None)
            ),
            val_dataloader=dict(dataset=dict(views, folder=str(tmp_path / 'heldout'))),
        )
    )


def pseudo_labels(config: Config, path: Path) -> PseudoLabelFile:
    people = DATASETS.build(config.train_dataloader.dataset.dataset)
    infos = [people.get_data_info(i) for i in range(len(people))]
    factors = np.random.default_rng(0).normal(size=(len(infos), 28, 28))
    labels = PseudoLabelFile(
        path,
        [sample_id(info) for info in infos],
        np.array([label_digest(info) for info in infos], np.uint64),
        pack_symmetric(factors + factors.transpose(0, 2, 1)),
        joint_names(people),
        dict(recipe={}),
    )
    labels.write()
    return labels


def test_a_view_is_the_pipelines_own_output(config: Config, tmp_path: Path) -> None:
    folder, row, view = tmp_path / 'train', 3, 1
    write_views(config, folder, range(2), batch_size=4, progress=False)
    pseudo_labels(config, tmp_path / 'labels.npz')
    settings = config.train_dataloader.dataset
    settings.file = str(tmp_path / 'labels.npz')
    from_views = DATASETS.build(settings)
    people = settings.dataset
    images = DATASETS.build(
        dict(
            type='PseudoLabelDataset',
            dataset=people,
            file=settings.file,
            pipeline=[*SPATIAL, *TARGETS],
        )
    )
    assert len(from_views) == 2 * len(images)
    found = from_views[view * len(images) + row]
    name = sample_id(images.get_data_info(row))
    np.random.seed(zlib.crc32(f'{name} {view}'.encode()))  # noqa: NPY002
    expected = images[row]
    for field in ('keypoint_labels', 'keypoint_weights', 'pseudo_root'):
        torch.testing.assert_close(
            found['data_samples'].gt_instance_labels[field],
            expected['data_samples'].gt_instance_labels[field],
            rtol=1e-4,
            atol=1e-4,
        )
    model = MODELS.build(config.model)
    model.backbone.init_weights()
    model.eval()
    inputs = []
    for item in (found, expected):
        data = dict(inputs=[item['inputs']], data_samples=[item['data_samples']])
        with torch.no_grad():
            inputs.append(model.extract_feat(model.data_preprocessor(data)['inputs'])[-1])
    scale = inputs[1].abs().max()
    assert (inputs[0] - inputs[1]).abs().max() < 0.05 * scale  # bfloat16 through 60 layers


def test_held_out_views_carry_their_mirror_images(config: Config, tmp_path: Path) -> None:
    write_views(config, tmp_path / 'heldout', [], part='val', progress=False)
    sample = DATASETS.build(config.val_dataloader.dataset)[0]
    assert sample['inputs'].shape[1:] == (1, 2)
    model = MODELS.build(config.model).eval()
    data = dict(inputs=[sample['inputs']], data_samples=[sample['data_samples']])
    (predicted,) = model.test_step(data)  # with a flip test
    assert predicted.pred_instances.keypoints.shape == (1, 14, 2)


def test_views_that_are_there_are_kept(config: Config, tmp_path: Path) -> None:
    folder = tmp_path / 'train'
    write_views(config, folder, [0], progress=False)
    before = (folder / '000.npy').stat().st_mtime_ns
    write_views(config, folder, [0, 1], progress=False)
    assert (folder / '000.npy').stat().st_mtime_ns == before
    assert (folder / '001.npz').is_file()


def test_absent_views_and_other_data(config: Config, tmp_path: Path) -> None:
    settings = config.train_dataloader.dataset
    with pytest.raises(UserError, match='view 0 is not in'):
        DATASETS.build(settings)
    write_views(config, tmp_path / 'train', range(2), progress=False)
    settings.dataset.split = 'train'
    with pytest.raises(UserError, match='has views of 9 samples, the data set has'):
        DATASETS.build(settings)
    settings.dataset.update(split='all', indices=[*range(1, 9), 0])
    with pytest.raises(UserError, match='view 0 is of other data'):
        DATASETS.build(settings)[0]
