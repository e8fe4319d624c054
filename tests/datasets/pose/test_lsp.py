"""Leeds Sports Pose: what is read, what is left out, how it is split."""

from __future__ import annotations

import os

import cv2
import numpy as np
import pytest
from mmengine.registry import init_default_scope
from mmpose.registry import DATASETS
from scipy.io import savemat

from hetpose.datasets.pose import LSPDataset, LSPETDataset
from hetpose.datasets.pose.lsp import box_around, heldout_mask
from hetpose.errors import UserError
from hetpose.paths import data_root

init_default_scope('mmpose')


def make_lspet(folder, count=12, absent=(4,)):
    """A small LSPET with one absent image, one empty annotation and one box of no area."""
    rng = np.random.default_rng(0)
    joints = np.zeros((14, 3, count))
    joints[:, :2] = rng.uniform(10, 90, (14, 2, count))
    joints[:, 2] = 1
    joints[0, 2, 0] = 0
    joints[0, :2, 0] = (0.0, -250.0)
    joints[:, 2, 1] = 0
    joints[:, :2, 2] = 30.0
    (folder / 'images').mkdir(parents=True)
    for number in range(1, count + 1):
        if number not in absent:
            image = np.full((100, 100, 3), number, np.uint8)
            cv2.imwrite(str(folder / 'images' / f'im{number:05d}.jpg'), image)
    savemat(folder / 'joints.mat', {'joints': joints})
    return joints


def test_lspet_reads_what_is_usable(tmp_path, caplog) -> None:
    joints = make_lspet(tmp_path)
    dataset = LSPETDataset(data_root=tmp_path)
    assert [dataset.get_data_info(i)['id'] for i in range(len(dataset))] == [
        *(1, 5, 6, 7, 8, 9, 10, 11, 12)
    ]
    first = dataset.get_data_info(0)
    assert first['keypoints'].shape == (1, 14, 2)
    assert first['keypoints_visible'][0].tolist() == [0.0] + [1.0] * 13
    np.testing.assert_allclose(first['keypoints'][0, 1:], joints[1:, :2, 0], rtol=1e-6)
    assert (first['bbox'][0, :2] > -20).all()  # the joint at (0, -250) is none
    low, high = joints[1:, :2, 0].min(0), joints[1:, :2, 0].max(0)
    assert (first['bbox'][0, :2] < low).all()
    assert (first['bbox'][0, 2:] > high).all()
    assert dataset.metainfo['num_keypoints'] == 14


def test_what_is_left_out_is_counted(tmp_path, monkeypatch) -> None:
    lines = []
    monkeypatch.setattr(
        'hetpose.datasets.pose.lsp.print_log', lambda text, **_: lines.append(text)
    )
    make_lspet(tmp_path)
    LSPETDataset(data_root=tmp_path)
    assert '9 samples' in lines[0]
    assert '1 whose image is absent, 2 without annotated joints' in lines[0]


def test_the_split_is_fixed_by_its_seed_and_a_partition(tmp_path) -> None:
    make_lspet(tmp_path, count=60, absent=())

    def ids(**kwargs):
        dataset = LSPETDataset(data_root=tmp_path, heldout=0.25, **kwargs)
        return {dataset.get_data_info(i)['id'] for i in range(len(dataset))}

    everything, train, held = (ids(split=split) for split in ('all', 'train', 'heldout'))
    assert train | held == everything
    assert not train & held
    assert held == ids(split='heldout')
    assert held != ids(split='heldout', split_seed=1)
    assert heldout_mask(1000, 0.1, 0).sum() == 100
    fit, validation = (ids(split=split) for split in ('fit', 'validation'))
    assert fit | validation == train
    assert not fit & validation
    assert len(ids(split='validation', validation=0.5)) > len(validation) >= 5
    with pytest.raises(ValueError, match='validation must lie'):
        ids(split='fit', validation=0.8)


def test_lsp_counts_occluded_joints_as_annotated(tmp_path) -> None:
    joints = np.random.default_rng(0).uniform(10, 90, (3, 14, 6))
    joints[2] = np.random.default_rng(1).integers(0, 2, (14, 6))
    (tmp_path / 'images').mkdir()
    for number in range(1, 7):
        cv2.imwrite(str(tmp_path / f'images/im{number:04d}.jpg'), np.zeros((9, 9, 3), np.uint8))
    savemat(tmp_path / 'joints.mat', {'joints': joints})
    dataset = LSPDataset(data_root=tmp_path, split='second')
    assert [dataset.get_data_info(i)['id'] for i in range(len(dataset))] == [4, 5, 6]
    info = dataset.get_data_info(0)
    assert info['keypoints_visible'].min() == 1
    np.testing.assert_allclose(info['keypoints'][0], joints[:2, :, 3].T, rtol=1e-6)
    with pytest.raises(UserError, match='expected 14 x 3 x N'):
        LSPETDataset(data_root=tmp_path)


def test_bad_input_is_named(tmp_path) -> None:
    with pytest.raises(UserError, match=r'joints\.mat not found'):
        LSPETDataset(data_root=tmp_path / 'absent')
    (tmp_path / 'joints.mat').write_bytes(b'no matrix')
    with pytest.raises(UserError, match=r'not a joints\.mat file'):
        LSPETDataset(data_root=tmp_path)
    savemat(tmp_path / 'joints.mat', {'joints': np.ones((14, 3, 2))})
    with pytest.raises(UserError, match='lspet images not found'):
        LSPETDataset(data_root=tmp_path)
    (tmp_path / 'images').mkdir()
    with pytest.raises(UserError, match='no usable sample'):
        LSPETDataset(data_root=tmp_path)
    with pytest.raises(ValueError, match='split must be one of'):
        LSPETDataset(data_root=tmp_path, split='second')
    with pytest.raises(ValueError, match='heldout must lie'):
        LSPETDataset(data_root=tmp_path, heldout=1.0)
    assert box_around(np.array([[3.0, 4.0]])) is None


def test_a_file_that_crashes_its_reader_is_named(tmp_path, monkeypatch) -> None:
    make_lspet(tmp_path)
    monkeypatch.setattr('hetpose.datasets.pose.lsp.loadmat', lambda path: os.abort())
    with pytest.raises(UserError, match=r'not a joints\.mat file: .*crashed: SIGABRT'):
        LSPETDataset(data_root=tmp_path)


def test_an_unreadable_image_is_skipped_in_training_and_named_in_testing(tmp_path) -> None:
    make_lspet(tmp_path)
    (tmp_path / 'images/im00001.jpg').write_bytes(b'junk')
    config = dict(type='LSPETDataset', data_root=str(tmp_path))
    skip = DATASETS.build(dict(config, pipeline=[dict(type='LoadPoseImage', on_error='skip')]))
    skip._rand_another = lambda: 1  # mmengine draws at random, also the broken image again
    assert skip[0]['id'] != 1
    assert skip.pipeline.transforms[0].skipped == 1
    fail = DATASETS.build(dict(config, test_mode=True, pipeline=[dict(type='LoadPoseImage')]))
    with pytest.raises(UserError, match=r'cannot read image: .*im00001\.jpg'):
        fail[0]


@pytest.mark.skipif(not data_root('lspet').exists(), reason='LSPET is not here')
def test_the_real_lspet_loads() -> None:
    dataset = LSPETDataset(pipeline=[dict(type='LoadPoseImage')])
    assert len(dataset) > 1000
    train, held = (LSPETDataset(split=split) for split in ('train', 'heldout'))
    assert len(train) + len(held) == len(dataset)
    for index in (0, len(dataset) // 2, len(dataset) - 1):
        sample = dataset[index]
        height, width = sample['img_shape']
        seen = sample['keypoints'][0, sample['keypoints_visible'][0] > 0]
        assert ((seen > -15) & (seen < (width + 15, height + 15))).all()
