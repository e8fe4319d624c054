"""From a config to a pseudo-label file that its training data accepts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmpose.registry import DATASETS

from hetpose.apis.data.pseudo_labels import (
    image_roots,
    make_pseudo_labels,
    pseudo_labels_from_crops,
)
from hetpose.apis.data.representation import Crops
from hetpose.datasets.pose import PseudoLabelFile
from hetpose.datasets.pose.pseudo_label_file import PseudoLabelRecipe, unpack_symmetric
from hetpose.errors import UserError
from hetpose.ops.neighbours import pseudo_covariances
from hetpose.paths import data_root

init_default_scope('mmpose')
COUNT, SIZE = 24, 32
PIPELINE = [
    dict(type='LoadImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='CovarianceRandomFlip', prob=1.0),
    dict(type='RandomBBoxTransform'),
    dict(type='CovarianceTopdownAffine', input_size=(SIZE, SIZE)),
    dict(type='CovarianceRandomAffine'),
    dict(type='PackPoseInputs'),
]


def config(**dataset) -> Config:
    inner = dict(type='SyntheticPose', length=COUNT, image_size=SIZE)
    wrapped = dict(
        type='PseudoLabelDataset', recipe=dict(dimension=4), dataset=inner, pipeline=PIPELINE
    )
    return Config(dict(train_dataloader=dict(dataset={**wrapped, **dataset})))


def test_the_file_is_accepted_by_the_training_data(tmp_path) -> None:
    out = tmp_path / 'labels.npz'
    labels = make_pseudo_labels(config(), out, options=dict(k=10), progress=False)
    assert labels.settings['used'] == dict(dimension=4, k=10)
    assert labels.settings['representation'] == 'pixels'
    read = PseudoLabelFile.read(out)
    assert read.settings == labels.settings
    dataset = DATASETS.build(config(file=str(out)).train_dataloader.dataset)
    sample = dataset[5]['data_samples']
    assert sample.gt_instances.keypoints.shape == (1, 14, 2)
    again = make_pseudo_labels(config(), tmp_path / 'b.npz', options=dict(k=10), progress=False)
    np.testing.assert_array_equal(again.roots, labels.roots)  # no augmentation, no chance


def crops(**changes) -> Crops:
    rng = np.random.default_rng(0)
    warps = np.tile(np.array([[2.0, 0.5, 3.0], [-0.5, 2.0, 1.0]]), (COUNT, 1, 1))
    content = dict(
        index=np.arange(COUNT),
        ids=np.array([f'set/{i}' for i in range(COUNT)]),
        digests=np.arange(COUNT).astype(np.uint64),
        features=rng.normal(size=(COUNT, 6)),
        points=rng.normal(10, 2, (COUNT, 3, 2)),
        present=np.ones((COUNT, 3), bool),
        warps=warps,
    )
    return Crops(**{**content, **changes})


def test_sigma_is_that_of_the_neighbours_mapped_to_the_image() -> None:
    data = crops()
    packed, used = pseudo_labels_from_crops(data, PseudoLabelRecipe(6, k=12), progress=False)
    assert used == dict(dimension=6, k=12)
    expected = pseudo_covariances(
        torch.tensor(data.features), torch.tensor(data.points).reshape(COUNT, 6), k=12
    ).numpy()
    back = np.kron(np.eye(3), np.linalg.inv(data.warps[0, :, :2]))
    for row, covariance in zip(packed, expected, strict=True):
        root = unpack_symmetric(row, 6).astype(float)
        np.testing.assert_allclose(root @ root, back @ covariance @ back.T, rtol=2e-3, atol=1e-4)
        assert np.linalg.eigvalsh(root).min() > -1e-5


def test_missing_joints_have_no_weight() -> None:
    present = np.ones((COUNT, 3), bool)
    present[::3, 1] = False
    points = crops().points
    wild = np.where(present[..., None], points, 1e6)
    recipe = PseudoLabelRecipe(6, k=12)
    calm, _ = pseudo_labels_from_crops(crops(present=present), recipe, progress=False)
    same, _ = pseudo_labels_from_crops(crops(present=present, points=wild), recipe, progress=False)
    np.testing.assert_array_equal(calm, same)


def test_roots_are_taken_in_blocks(monkeypatch) -> None:
    covariances = torch.eye(6).expand(COUNT, 6, 6).contiguous()
    whole = image_roots(covariances, crops().warps)
    monkeypatch.setattr('hetpose.apis.data.pseudo_labels._BLOCK', 5)
    np.testing.assert_array_equal(image_roots(covariances, crops().warps), whole)


def test_bad_requests_are_one_line(tmp_path) -> None:
    out = tmp_path / 'labels.npz'
    for change, message in (
        (dict(out=tmp_path / 'labels.pkl'), r'must end in \.npz'),
        (dict(options=dict(dimension=0)), 'dimension must be at least 1'),
        (dict(options=dict(neighbours=3)), 'pseudo-label recipe'),
        (dict(checkpoint=tmp_path / 'absent.pth'), 'checkpoint not found'),
        (dict(config=Config(dict())), 'has no train_dataloader'),
    ):
        arguments = {**dict(config=config(), out=out, progress=False), **change}
        with pytest.raises(UserError, match=message) as caught:
            make_pseudo_labels(**arguments)
        assert '\n' not in str(caught.value)
    assert not out.exists()


@pytest.mark.skipif(not data_root('coco_sample').exists(), reason='the COCO sample is not here')
def test_mmposes_own_coco_data_gets_pseudo_labels(tmp_path) -> None:
    inner = dict(
        type='CocoDataset',
        ann_file='test_coco.json',
        data_root=str(data_root('coco_sample')),
        data_prefix=dict(img=''),
    )
    out = tmp_path / 'coco.npz'
    labels = make_pseudo_labels(config(dataset=inner), out, progress=False)
    assert len(labels.joints) == 17
    dataset = DATASETS.build(config(dataset=inner, file=str(out)).train_dataloader.dataset)
    assert dataset.get_data_info(0)['pseudo_factor'].shape == (1, 34, 34)
    assert len(dataset) == len(labels.ids)
    assert dataset[0]['inputs'].shape == (3, SIZE, SIZE)
