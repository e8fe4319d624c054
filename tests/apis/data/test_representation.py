"""Crops as vectors: without chance, with a checkpoint or without, on one rank or two."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmpose.registry import DATASETS, MODELS

from hetpose.apis.data.representation import Extractor, extract, reduce_dimension, unaugmented
from hetpose.errors import UserError
from hetpose.ops.neighbours import pseudo_covariances

init_default_scope('mmpose')
ROOT = Path(__file__).resolve().parents[3]
SIZE, COUNT = 32, 10
PIPELINE = [
    dict(type='LoadPoseImage', on_error='skip'),
    dict(type='GetBBoxCenterScale'),
    dict(type='CovarianceRandomFlip', prob=1.0),
    dict(type='CovarianceTopdownAffine', input_size=(SIZE, SIZE)),
    dict(type='CovarianceRandomAffine'),
    dict(type='PackPoseInputs'),
]
DATA = dict(type='SyntheticPose', length=COUNT, image_size=SIZE)
CODEC = dict(type='MSRAHeatmap', input_size=(SIZE, SIZE), heatmap_size=(8, 8), sigma=1)
MODEL = dict(
    type='TopdownPoseEstimator',
    data_preprocessor=dict(type='PoseDataPreprocessor', mean=[127.0] * 3, std=[60.0] * 3),
    backbone=dict(type='ResNet', depth=18),
    head=dict(
        type='HeatmapHead',
        in_channels=512,
        out_channels=14,
        deconv_out_channels=None,
        loss=dict(type='KeypointMSELoss'),
        decoder=CODEC,
    ),
)


def test_thumbnails_are_the_crops() -> None:
    dataset = DATASETS.build(DATA)
    crops = extract(dataset, PIPELINE, Extractor(Config(), None), 8, batch_size=3, progress=False)
    assert crops.features.shape == (COUNT, 8 * 8 * 3)
    assert crops.index.tolist() == list(range(COUNT))
    assert crops.ids[3] == 'synthetic_pose/3'
    assert (crops.features.max() <= 1) & (crops.features.std() > 0.05)
    for row in range(COUNT):  # the crop's matrix takes the label to where the crop has it
        label = dataset.get_data_info(row)['keypoints'][0]
        moved = label @ crops.warps[row, :, :2].T + crops.warps[row, :, 2]
        np.testing.assert_allclose(moved, crops.points[row], atol=1e-3)


def test_features_come_from_the_checkpoint(tmp_path) -> None:
    config = Config(dict(model=MODEL))
    model = MODELS.build(config.model).eval()
    torch.save(dict(state_dict=model.state_dict()), tmp_path / 'model.pth')
    dataset = DATASETS.build(DATA)
    extractor = Extractor(config, tmp_path / 'model.pth')
    crops = extract(dataset, PIPELINE, extractor, 8, progress=False)
    assert crops.features.shape == (COUNT, 512)
    with torch.no_grad():
        image = torch.from_numpy(_crop_image(dataset, 2)).permute(2, 0, 1).float()
        pooled = model.extract_feat((image[None] - 127) / 60)[-1].mean((2, 3))
    np.testing.assert_allclose(crops.features[2], pooled[0].numpy(), rtol=1e-3, atol=1e-4)
    with pytest.raises(UserError, match='checkpoint not found'):
        Extractor(config, tmp_path / 'absent.pth')


def test_a_checkpoint_of_another_network_is_refused(tmp_path) -> None:
    torch.save(dict(state_dict={'other.weight': torch.ones(2)}), tmp_path / 'other.pth')
    (tmp_path / 'torn.pth').write_bytes(b'PK')
    for name, message in (('other', 'does not fit'), ('torn', 'cannot be read')):
        with pytest.raises(UserError, match=message):
            Extractor(Config(dict(model=MODEL)), tmp_path / f'{name}.pth')


def _crop_image(dataset, index: int) -> np.ndarray:
    from mmengine.dataset import Compose

    return Compose(unaugmented(PIPELINE))(dataset.get_data_info(index))['img']


def test_an_unreadable_image_is_counted(monkeypatch) -> None:
    dataset = DATASETS.build(DATA)
    whole = dataset.get_data_info

    def broken(index: int) -> dict:
        info = whole(index)
        if index == 4:
            del info['img']
        return info

    monkeypatch.setattr(dataset, 'get_data_info', broken)
    crops = extract(dataset, PIPELINE, Extractor(Config(), None), 8, progress=False)
    assert crops.unreadable == ('synthetic_pose/4',)
    assert crops.index.tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]


def test_pca_keeps_distances_and_caps_its_dimension() -> None:
    features = np.random.default_rng(0).normal(size=(20, 5)) @ np.random.default_rng(1).normal(
        size=(5, 9)
    )
    reduced = reduce_dimension(features, 5)
    for a, b in ((0, 1), (3, 9)):
        np.testing.assert_allclose(
            np.linalg.norm(reduced[a] - reduced[b]),
            np.linalg.norm(features[a] - features[b]),
            rtol=1e-4,
        )
    full_rank = np.random.default_rng(2).normal(size=(20, 9))
    assert reduce_dimension(full_rank, 100).shape == (20, 9)


@pytest.mark.parametrize(('count', 'offset'), [(60, 0.0), (700, 0.0), (700, 300.0)])
def test_components_that_are_rounding_are_left_out(count: int, offset: float) -> None:
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(count, 5))
    features = (causes @ rng.normal(size=(5, 48)) + offset).astype(np.float32)
    reduced = reduce_dimension(features, 32)
    assert reduced.shape == (count, 5)
    y = torch.from_numpy(causes[:, :2])
    found = pseudo_covariances(torch.from_numpy(reduced), y, k=20)
    expected = pseudo_covariances(torch.from_numpy(causes), y, k=20)
    torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-3)


def test_the_crop_is_that_of_the_config_without_chance() -> None:
    kinds = [transform['type'] for transform in unaugmented(PIPELINE)]
    assert kinds == ['LoadPoseImage', 'GetBBoxCenterScale', 'CovarianceTopdownAffine']
    plain = unaugmented([dict(type='TopdownAffine', input_size=(8, 8), use_udp=True)])
    assert plain == [dict(type='CovarianceTopdownAffine', input_size=(8, 8), use_udp=True)]
    with pytest.raises(UserError, match='no top-down crop'):
        unaugmented(PIPELINE[:2])


@pytest.mark.slow
def test_two_ranks_write_what_one_writes(tmp_path) -> None:
    config = tmp_path / 'config.py'
    data = dict(type='PseudoLabelDataset', dataset=DATA, pipeline=PIPELINE)
    config.write_text(
        f"default_scope = 'mmpose'\ncustom_imports = dict(imports=['hetpose'])\n"
        f'train_dataloader = dict(dataset={data!r})\n'
    )
    tool = [str(ROOT / 'tools/pseudo_labels.py'), str(config), '--k', '6', '--no-progress']
    torchrun = [sys.executable, '-m', 'torch.distributed.run', '--standalone', '--nproc_per_node']
    one, two = tmp_path / 'one.npz', tmp_path / 'two.npz'
    subprocess.run([sys.executable, *tool, '--out', str(one)], check=True, cwd=ROOT)
    subprocess.run(
        [*torchrun, '2', *tool, '--out', str(two), '--launcher', 'pytorch'], check=True, cwd=ROOT
    )
    with np.load(one) as first, np.load(two) as second:
        for name in first.files:
            np.testing.assert_array_equal(first[name], second[name])
