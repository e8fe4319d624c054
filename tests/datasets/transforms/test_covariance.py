"""Σ follows the keypoints through every transform, and through all of them in a row."""

from __future__ import annotations

import numpy as np
import pytest
from helpers_transforms import (
    DOT_JOINTS,
    FLIP,
    chain,
    find_dot,
    make_sample,
    moved_points,
    run,
)
from mmpose.datasets.transforms import RandomBBoxTransform, RandomFlip, TopdownAffine

from hetpose.datasets.transforms import (
    CovarianceRandomAffine,
    CovarianceRandomFlip,
    CovarianceTopdownAffine,
    attach_factor,
)
from hetpose.datasets.transforms.covariance import check_not_moved
from hetpose.errors import UserError

SIZE = (96, 80)
SSR = dict(shift=0.2, scale=0.25, rotate=45)
# name -> transform, space of the moved keypoints
CASES = {
    'horizontal': (CovarianceRandomFlip(prob=1.0), ''),
    'vertical': (CovarianceRandomFlip(prob=1.0, direction='vertical'), ''),
    'diagonal': (CovarianceRandomFlip(prob=1.0, direction='diagonal'), ''),
    'crop': (CovarianceTopdownAffine(SIZE), 'transformed_'),
    'crop_udp': (CovarianceTopdownAffine(SIZE, use_udp=True), 'transformed_'),
    'bbox': (chain(RandomBBoxTransform(), CovarianceTopdownAffine(SIZE)), 'transformed_'),
    'ssr': (
        chain(CovarianceTopdownAffine(SIZE), CovarianceRandomAffine(**SSR, flip_prob=0.0)),
        'transformed_',
    ),
    'ssr_flip': (
        chain(CovarianceTopdownAffine(SIZE), CovarianceRandomAffine(**SSR, flip_prob=1.0)),
        'transformed_',
    ),
    'ssr_in_image': (
        chain(CovarianceTopdownAffine(SIZE), CovarianceRandomAffine(**SSR, flip_prob=1.0)),
        '',
    ),
    'all': (
        chain(
            CovarianceRandomFlip(prob=1.0),
            RandomBBoxTransform(),
            CovarianceTopdownAffine(SIZE, use_udp=True),
            CovarianceRandomAffine(**SSR, flip_prob=0.5),
        ),
        'transformed_',
    ),
}
each_case = pytest.mark.parametrize('name', list(CASES))


@each_case
@pytest.mark.parametrize('key', ['pseudo_factor', 'true_factor'])
def test_columns_of_the_factor_move_as_displacements(name: str, key: str) -> None:
    """T(μ + F_j) − T(μ) is column j of the moved factor: the exact law, through the transform."""
    transform, space = CASES[name]
    for seed in range(3):
        sample = make_sample(seed, key)
        factor = run(transform, sample, seed)[f'{space}{key}'][0]
        offsets = np.concatenate([np.zeros((1, 28)), sample[key][0].T])
        points = moved_points(transform, sample, offsets, seed, space)
        np.testing.assert_allclose((points[1:] - points[0]).T, factor, atol=3e-4)


@each_case
def test_covariance_of_moved_samples_is_the_moved_covariance(name: str) -> None:
    transform, space = CASES[name]
    sample = make_sample(1)
    factor = run(transform, sample, 1)[f'{space}pseudo_factor'][0].astype(np.float64)
    noise = np.random.default_rng(0).standard_normal((1500, 28)) @ sample['pseudo_factor'][0].T
    points = moved_points(transform, sample, noise, 1, space)
    moved = factor @ factor.T
    scale = np.sqrt(np.outer(np.diag(moved), np.diag(moved)))
    # A sample correlation over 1500 draws has a standard error below 0.026.
    assert np.abs((np.cov(points.T) - moved) / scale).max() < 0.15


@each_case
def test_keypoints_equal_those_of_mmpose(name: str) -> None:
    """The covariance changes nothing else: with and without it, the keypoints are the same."""
    transform, space = CASES[name]
    with_factor = run(transform, make_sample(2), 5)
    without = run(transform, make_sample(2, None), 5)
    np.testing.assert_array_equal(with_factor[f'{space}keypoints'], without[f'{space}keypoints'])
    assert not any('factor' in key for key in without)


def test_the_parents_results_are_kept() -> None:
    sample = make_sample(3)
    for ours, theirs in (
        (CovarianceRandomFlip(prob=0.5), RandomFlip(prob=0.5)),
        (CovarianceTopdownAffine(SIZE), TopdownAffine(SIZE)),
    ):
        for seed in range(4):
            mine, other = run(ours, sample, seed), run(theirs, sample, seed)
            for key in set(other) - {'pseudo_factor', 'covariance_keypoints'}:
                np.testing.assert_array_equal(mine[key], other[key], err_msg=key)


@pytest.mark.parametrize('direction', ['horizontal', 'vertical', 'diagonal'])
def test_two_flips_return_everything(direction: str) -> None:
    flip = CovarianceRandomFlip(prob=1.0, direction=direction)
    sample = make_sample(4)
    there = run(flip, sample, 0)
    back = run(flip, there, 0)
    assert not np.allclose(there['pseudo_factor'], sample['pseudo_factor'])
    for key in ('keypoints', 'keypoints_visible', 'pseudo_factor'):
        np.testing.assert_allclose(back[key], sample[key], atol=1e-4)


@each_case
def test_the_inverse_map_returns_the_covariance(name: str) -> None:
    """The affine map read off the keypoints, undone, gives Σ back."""
    transform, space = CASES[name]
    sample = make_sample(5)
    moved = run(transform, sample, 9)
    old, new = sample['keypoints'][0].astype(float), moved[f'{space}keypoints'][0].astype(float)
    fits = {}
    for mirrored in (False, True):
        order = FLIP if mirrored else list(range(14))
        design = np.column_stack([old[order], np.ones(14)])
        solution, residual, *_ = np.linalg.lstsq(design, new, rcond=None)
        fits[float(residual.sum())] = (solution[:2].T, order)
    assert min(fits) < 1e-4
    linear, order = fits[min(fits)]
    inverse = np.kron(np.eye(14), np.linalg.inv(linear)) @ moved[f'{space}pseudo_factor'][0]
    returned = np.empty((14, 2, 28))
    returned[order] = inverse.reshape(14, 2, 28)
    np.testing.assert_allclose(returned.reshape(28, 28), sample['pseudo_factor'][0], atol=2e-3)


@each_case
def test_flips_permute_joints(name: str) -> None:
    """Joint 8 is the one that is not annotated; after a mirror image it is its partner."""
    transform, space = CASES[name]
    sample = make_sample(6)
    moved = run(transform, sample, 3)
    old, new = sample['keypoints'][0], moved[f'{space}keypoints'][0]
    linear = np.linalg.lstsq(np.column_stack([old, np.ones(14)]), new, rcond=None)
    mirrored = linear[1].sum() > 1e-2  # without the permutation no affine map fits
    missing = FLIP[8] if mirrored else 8
    assert np.flatnonzero(moved['keypoints_visible'][0] == 0).tolist() == [missing]
    expected = {'horizontal', 'vertical', 'ssr_flip', 'ssr_in_image'}
    if name != 'all':
        assert mirrored == (name in expected)


@pytest.mark.parametrize('name', [name for name in CASES if name != 'ssr_in_image'])
@pytest.mark.parametrize('joint', DOT_JOINTS)
def test_the_image_follows_the_keypoints(name: str, joint: int) -> None:
    transform, space = CASES[name]
    found = 0
    for seed in range(12):
        sample = make_sample(seed)
        outcome = find_dot(transform, sample, joint, seed)
        if outcome is None:
            continue
        place, moved = outcome
        height, width = moved['img'].shape[:2]
        candidates = moved[f'{space}keypoints'][0][[joint, FLIP[joint]]]
        inside = (candidates > 8).all() and (candidates < (width - 9, height - 9)).all()
        if not inside:
            continue
        mirrored = moved['keypoints_visible'][0, 8] == 1  # joint 8 is the unannotated one
        target = candidates[1] if mirrored else candidates[0]
        assert np.abs(place - target).max() < 0.3
        found += 1
    assert found >= 2


def test_a_moved_sample_without_its_covariance_is_noticed() -> None:
    """mmpose's own RandomFlip behind a data set that could not be checked when it was built."""
    sample = run(RandomFlip(prob=1.0), make_sample(0), 0)
    for transform in (CovarianceRandomFlip(prob=1.0), CovarianceTopdownAffine(SIZE)):
        with pytest.raises(UserError, match='left their covariance behind'):
            run(transform, sample, 0)


def test_an_unknown_factor_name_is_refused() -> None:
    with pytest.raises(ValueError, match='key must be one of'):
        attach_factor(make_sample(), 'factor', np.eye(28))


def test_nan_is_not_a_move() -> None:
    results = dict(keypoints=np.array([[[1.0, np.nan], [2.0, 3.0]]]))
    attach_factor(results, 'pseudo_factor', np.eye(4))
    check_not_moved(results, results['keypoints'].copy(), 'a flip')
    with pytest.raises(UserError, match='moved'):
        check_not_moved(results, results['keypoints'] + 1, 'a flip')
