import pytest
import torch

from hetpose.evaluation.functional.recalibration import (
    fit_per_block,
    fit_scale,
    fit_scale_and_floor,
)
from hetpose.ops.gaussian import mahalanobis_squared, negative_log_likelihood, recalibrate, sample
from hetpose.ops.spd import NotPositiveDefiniteError


def gaussians(count: int, dim: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    factor = torch.randn(count, dim, dim, generator=generator, dtype=torch.float64)
    covariance = factor @ factor.mT + 0.05 * torch.eye(dim, dtype=torch.float64)
    zero = torch.zeros(count, dim, dtype=torch.float64)
    return sample(zero, covariance, 1, generator)[0], covariance


def nll(residual, covariance, alpha, beta, mask=None):
    return (
        negative_log_likelihood(residual, recalibrate(covariance, alpha, beta), mask).mean().item()
    )


@pytest.mark.parametrize('floor', [False, True])
def test_four_times_too_large_is_found(floor):
    residual, covariance = gaussians(2000, 6)
    alpha, beta = fit_scale_and_floor(residual, 4 * covariance, floor=floor)
    assert alpha == pytest.approx(0.25, rel=0.05)
    assert beta == 0
    alphas, betas = fit_per_block(residual, 4 * covariance, block=2, floor=False)
    assert alphas == pytest.approx([0.25] * 3, rel=0.05)
    assert betas == (0, 0, 0)


def test_scale_is_the_mean_distance_per_present_dimension():
    residual, covariance = gaussians(300, 4)
    mask = torch.rand(300, 4) > 0.4
    closed = mahalanobis_squared(residual, covariance, mask).sum() / mask.sum()
    assert fit_scale(residual, covariance, mask) == pytest.approx(closed.item())


def test_scale_and_floor_are_both_found():
    residual, truth = gaussians(6000, 4)
    smaller = (truth - 0.04 * torch.eye(4, dtype=torch.float64)) / 3
    alpha, beta = fit_scale_and_floor(residual, smaller)
    assert alpha == pytest.approx(3, rel=0.05)
    assert beta == pytest.approx(0.04, rel=0.15)


def test_no_neighbour_has_a_smaller_nll():
    residual, truth = gaussians(500, 4, seed=2)
    mask = torch.rand(500, 4) > 0.2
    covariance = 0.3 * (truth - 0.04 * torch.eye(4, dtype=torch.float64))
    alpha, beta = fit_scale_and_floor(residual, covariance, mask)
    best = nll(residual, covariance, alpha, beta, mask)
    for a in (0.9, 1, 1.1):
        for b in (0.5, 1, 1.5):
            assert nll(residual, covariance, a * alpha, b * beta, mask) >= best - 1e-9


def test_collapsed_covariances_are_corrected_by_the_floor():
    residual = torch.randn(500, 3, dtype=torch.float64)
    factor = torch.randn(500, 3, 1, dtype=torch.float64)
    collapsed = factor @ factor.mT + 1e-8 * torch.eye(3, dtype=torch.float64)
    alpha, beta = fit_scale_and_floor(residual, collapsed)
    assert beta == pytest.approx(1, rel=0.15)
    assert alpha < 0.2


def test_per_block_fits_every_marginal():
    residual, covariance = gaussians(8000, 4)
    scale = torch.tensor([1, 1, 9, 9], dtype=torch.float64)
    alphas, _ = fit_per_block(residual, recalibrate(covariance, 1 / scale), block=2, floor=False)
    assert alphas == pytest.approx([1, 9], rel=0.05)


def test_nothing_to_fit_on_and_bad_matrices_are_refused():
    residual, covariance = gaussians(5, 4)
    mask = torch.ones(5, 4, dtype=torch.bool)
    mask[:, 2:] = False
    with pytest.raises(ValueError, match='block 1'):
        fit_per_block(residual, covariance, mask, block=2)
    with pytest.raises(ValueError, match='nothing to fit'):
        fit_scale(residual, covariance, torch.zeros_like(mask))
    covariance[3] = -covariance[3]
    with pytest.raises(NotPositiveDefiniteError, match='item 3'):
        fit_scale(residual, covariance)
