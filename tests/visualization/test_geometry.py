"""Ellipses hold the probability that they promise."""

import numpy as np
import pytest
from scipy import stats

from hetpose.ops.spd import joint_blocks
from hetpose.visualization.geometry import (
    coverage_radius,
    ellipse_axes,
    ellipse_points,
    joint_correlation,
)


def random_covariance(dim: int, seed: int = 0) -> np.ndarray:
    factor = np.random.default_rng(seed).normal(size=(dim, dim))
    return factor @ factor.T


@pytest.mark.parametrize('coverage', [0.5, 0.9, 0.99])
def test_the_radius_is_that_of_chi_squared(coverage: float) -> None:
    from scipy.stats import chi2

    assert coverage_radius(coverage) == pytest.approx(np.sqrt(chi2(2).ppf(coverage)), rel=1e-12)


@pytest.mark.parametrize('coverage', [0, 1, -0.1, 1.5])
def test_an_impossible_coverage_is_refused(coverage: float) -> None:
    with pytest.raises(ValueError, match='coverage'):
        coverage_radius(coverage)


@pytest.mark.parametrize('coverage', [0.5, 0.9])
def test_samples_fall_into_the_ellipse_as_often_as_stated(coverage: float) -> None:
    covariance = random_covariance(2, seed=3)
    samples = np.random.default_rng(0).multivariate_normal([0, 0], covariance, 40_000)
    axes, angle = ellipse_axes(covariance, coverage)
    turned = samples @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    inside = ((turned / axes) ** 2).sum(-1) <= 1
    assert inside.mean() == pytest.approx(coverage, abs=0.01)


def test_the_points_lie_on_the_ellipse() -> None:
    covariance, center = random_covariance(2), np.array([30.0, -4.0])
    points = ellipse_points(center, covariance, 0.9) - center
    squared = np.einsum('ni,ij,nj->n', points, np.linalg.inv(covariance), points)
    np.testing.assert_allclose(squared, coverage_radius(0.9) ** 2)


def test_the_axes_are_eigenvectors_also_of_a_batch() -> None:
    covariances = np.stack([random_covariance(2, seed) for seed in range(5)])
    axes, angle = ellipse_axes(covariances, 0.9)
    direction = np.stack([np.cos(angle), np.sin(angle)], -1)
    variance = (axes[:, 0] / coverage_radius(0.9)) ** 2
    product = np.einsum('nij,nj->ni', covariances, direction)
    np.testing.assert_allclose(product, variance[:, None] * direction)
    assert (axes[:, 0] >= axes[:, 1]).all()


def test_a_point_mass_has_no_extent() -> None:
    axes, _ = ellipse_axes(np.zeros((2, 2)), 0.9)
    assert (axes == 0).all()


def test_blocks_are_the_marginals() -> None:
    covariance = random_covariance(8)
    blocks = joint_blocks(covariance)
    for k in range(4):
        np.testing.assert_array_equal(blocks[k], covariance[2 * k : 2 * k + 2, 2 * k : 2 * k + 2])


def test_correlation_is_that_of_the_displacements() -> None:
    covariance = random_covariance(6)
    samples = np.random.default_rng(0).multivariate_normal(np.zeros(6), covariance, 100_000)
    moves = samples.reshape(-1, 3, 2)
    products = np.einsum('nid,njd->ij', moves, moves)
    scale = np.sqrt(np.diag(products))
    np.testing.assert_allclose(
        joint_correlation(covariance), products / np.outer(scale, scale), atol=0.02
    )


def test_correlation_does_not_depend_on_the_image_being_turned() -> None:
    covariance = random_covariance(6)
    turn = np.kron(np.eye(3), np.array([[0.6, -0.8], [0.8, 0.6]]))
    np.testing.assert_allclose(
        joint_correlation(turn @ covariance @ turn.T), joint_correlation(covariance)
    )


def test_a_known_joint_is_uncorrelated() -> None:
    covariance = random_covariance(6)
    covariance[:2] = covariance[:, :2] = 0
    correlation = joint_correlation(covariance)
    np.testing.assert_array_equal(correlation[0], [1, 0, 0])


@pytest.mark.parametrize('coverage', [0.5, 0.9])
def test_ellipses_of_a_student_hold_what_they_promise(coverage: float) -> None:
    nu, rng = 3.0, np.random.default_rng(0)
    covariance = random_covariance(2)
    draws = stats.multivariate_t(shape=covariance * (nu - 2) / nu, df=nu, seed=rng).rvs(100_000)
    distance = np.einsum('ni,ij,nj->n', draws, np.linalg.inv(covariance), draws)
    radius = coverage_radius(coverage, nu)
    assert (distance <= radius**2).mean() == pytest.approx(coverage, abs=0.006)
    ring = ellipse_points(np.zeros(2), covariance, coverage, degrees_of_freedom=nu)
    inside = np.einsum('ni,ij,nj->n', ring, np.linalg.inv(covariance), ring)
    np.testing.assert_allclose(inside, radius**2)
    assert coverage_radius(coverage, np.inf) == coverage_radius(coverage)
    assert coverage_radius(coverage, 1e9) == pytest.approx(coverage_radius(coverage), rel=1e-8)
