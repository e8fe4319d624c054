"""Shift, scale and rotation: their ranges, their seed, and what a model's prediction sees."""

from __future__ import annotations

import numpy as np
import pytest
from helpers_transforms import chain, make_sample, run

from hetpose.datasets.transforms import CovarianceRandomAffine, CovarianceTopdownAffine
from hetpose.datasets.transforms.albumentations_affine import compose_affine, invert_affine

SIZE = (128, 128)
CROP = CovarianceTopdownAffine(SIZE, use_udp=True)


def linear_parts(settings: dict, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """The linear parts (n, 2, 2) and where the input's centre goes (n, 2), over seeds."""
    sample = run(CROP, make_sample(0), 0)
    before = sample['transformed_keypoints'][0].astype(float)
    transform, linear, centres = CovarianceRandomAffine(**settings), [], []
    middle = (np.array(SIZE) - 1) / 2
    for seed in range(count):
        after = run(transform, sample, seed)['transformed_keypoints'][0].astype(float)
        solution = np.linalg.lstsq(np.column_stack([before, np.ones(14)]), after, rcond=None)[0]
        linear.append(solution[:2].T)
        centres.append(middle @ solution[:2] + solution[2])
    return np.array(linear), np.array(centres) - middle


def test_ranges_are_those_of_the_settings() -> None:
    linear, shifts = linear_parts(dict(shift=0.2, scale=0.25, rotate=45, flip_prob=0.0))
    scales = np.sqrt(np.linalg.det(linear))
    angles = np.degrees(np.arctan2(linear[:, 1, 0], linear[:, 0, 0]))
    assert 0.74 < scales.min() < 0.8
    assert 1.2 < scales.max() < 1.26
    assert -45.1 < angles.min() < -40
    assert 40 < angles.max() < 45.1
    limit = 0.2 * SIZE[0]
    assert (np.abs(shifts) < limit + 1.5).all()
    assert (np.abs(shifts).max(0) > 0.9 * limit).all()
    assert abs(np.corrcoef(shifts.T)[0, 1]) < 0.25  # x and y are drawn apart


def test_nothing_moves_with_all_settings_at_zero() -> None:
    sample = run(CROP, make_sample(0), 0)
    still = run(CovarianceRandomAffine(0.0, 0.0, 0.0, flip_prob=0.0), sample, 0)
    for key in ('transformed_keypoints', 'keypoints', 'transformed_pseudo_factor'):
        np.testing.assert_allclose(still[key], sample[key], atol=1e-4)


def test_the_seed_is_numpys() -> None:
    """mmengine seeds numpy in every worker; a library with a stream of its own would repeat."""
    transform = chain(CROP, CovarianceRandomAffine())
    sample = make_sample(0)
    first, again, other = (run(transform, sample, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first['img'], again['img'])
    np.testing.assert_array_equal(first['transformed_keypoints'], again['transformed_keypoints'])
    assert not np.allclose(first['transformed_keypoints'], other['transformed_keypoints'])


def test_image_and_input_coordinates_stay_bound_by_the_crop() -> None:
    """What a model predicts in the input and maps back meets the image-space keypoints and Σ."""
    moved = run(chain(CROP, CovarianceRandomAffine()), make_sample(0), 4)
    back = invert_affine(moved['warp_matrix'])
    points = moved['transformed_keypoints'][0] @ back[:, :2].T + back[:, 2]
    np.testing.assert_allclose(points, moved['keypoints'][0], atol=1e-3)
    factor = np.kron(np.eye(14), back[:, :2]) @ moved['transformed_pseudo_factor'][0]
    np.testing.assert_allclose(factor, moved['pseudo_factor'][0], atol=1e-3)


def test_affine_algebra() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 2, 3))
    point = rng.normal(size=2)
    step = first[:, :2] @ (second[:, :2] @ point + second[:, 2]) + first[:, 2]
    both = compose_affine(first, second)
    np.testing.assert_allclose(both[:, :2] @ point + both[:, 2], step)
    np.testing.assert_allclose(
        compose_affine(first, invert_affine(first)), np.eye(2, 3), atol=1e-12
    )


def test_misuse_is_named() -> None:
    with pytest.raises(ValueError, match='belongs after CovarianceTopdownAffine'):
        run(CovarianceRandomAffine(), make_sample(0), 0)
    with pytest.raises(ValueError, match='scale must be in'):
        CovarianceRandomAffine(scale=1.0)
    assert 'rotate=45' in repr(CovarianceRandomAffine())
