"""SyntheticPose: fixed by its seed, and its labels err as the declared covariance predicts."""

from __future__ import annotations

import numpy as np
import pytest

from hetpose.datasets.pose import LSP14, SyntheticPose

SIZE = 64


def test_the_same_seed_gives_the_same_sample() -> None:
    one, again = (SyntheticPose(length=3, seed=4, image_size=SIZE) for _ in range(2))
    other = SyntheticPose(length=3, seed=5, image_size=SIZE)
    for index in (2, 0, 1):  # whatever the order
        first, second = one.get_data_info(index), again.get_data_info(index)
        for key in ('img', 'keypoints', 'true_factor', 'bbox'):
            np.testing.assert_array_equal(first[key], second[key])
        assert not np.array_equal(first['img'], other.get_data_info(index)['img'])
    assert not np.array_equal(one.image(0), one.image(1))


def test_whitened_label_errors_are_standard_normal() -> None:
    """F⁻¹(y − truth) ~ N(0, I) over samples: the factor is that of the errors that were drawn."""
    dataset = SyntheticPose(length=600, image_size=32)
    white = []
    for index in range(len(dataset)):
        info = dataset.get_data_info(index)
        error = (info['keypoints'][0] - dataset.clean_keypoints(index)).ravel()
        white.append(np.linalg.solve(info['true_factor'][0].astype(float), error))
    white = np.array(white)
    assert abs((white**2).sum(1).mean() - 28) < 1.3  # four standard errors
    covariance = np.cov(white.T)
    assert np.abs(covariance - np.eye(28)).max() < 0.25
    assert np.abs(white.mean(0)).max() < 0.2


def test_the_factor_is_one_of_the_covariance() -> None:
    dataset = SyntheticPose(length=4, image_size=SIZE, noise=2.0)
    plain = SyntheticPose(length=4, image_size=SIZE)
    for index in range(4):
        factor = dataset.get_data_info(index)['true_factor'][0].astype(float)
        np.testing.assert_allclose(factor @ factor.T, dataset.covariance(index), atol=1e-4)
        np.testing.assert_allclose(dataset.covariance(index), 4 * plain.covariance(index))


def test_joints_lie_in_the_image_and_in_the_box() -> None:
    dataset = SyntheticPose(length=100, image_size=SIZE)
    sides = []
    for index in range(len(dataset)):
        info, truth = dataset.get_data_info(index), dataset.clean_keypoints(index)
        assert info['img'].shape == (SIZE, SIZE, 3)
        assert ((truth >= 0) & (truth <= SIZE - 1)).all()
        low, high = info['bbox'][0, :2], info['bbox'][0, 2:]
        assert ((truth >= low - 1e-3) & (truth <= high + 1e-3)).all()
        sides.append(truth[9, 0] - truth[8, 0])
    assert np.mean(np.array(sides) > 0) > 0.99  # seen from the front, left is to the right


def test_joint_names_are_those_of_lsp() -> None:
    dataset = SyntheticPose(length=1)
    names = [joint['name'] for joint in LSP14['keypoint_info'].values()]
    assert list(dataset.metainfo['keypoint_id2name'].values()) == names
    assert names[:3] == ['right_ankle', 'right_knee', 'right_hip']
    flips = dataset.metainfo['flip_indices']
    assert [flips[i] for i in flips] == list(range(14))


def test_bad_arguments_are_named() -> None:
    for bad in (dict(length=0), dict(image_size=8), dict(noise=0.0)):
        with pytest.raises(ValueError, match='SyntheticPose needs'):
            SyntheticPose(**bad)
    silent = SyntheticPose(length=1, image_size=SIZE, supply_truth=False)
    assert 'true_factor' not in silent.get_data_info(0)
