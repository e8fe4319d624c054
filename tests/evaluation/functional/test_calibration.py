import math

import pytest
import torch
from scipy import stats

from hetpose.evaluation.functional.calibration import (
    LEVELS,
    coverage,
    expected_calibration_error,
    marginal_pit,
    pit,
    reliability,
    sharpness,
    split_blocks,
    uniformity,
)
from hetpose.evaluation.functional.scores import calibration_scores
from hetpose.ops.distribution import Distribution
from hetpose.ops.gaussian import sample


def gaussians(count: int, dim: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Residuals drawn from varied, correlated, known covariances: (N, d), (N, d, d)."""
    generator = torch.Generator().manual_seed(seed)
    factor = torch.randn(count, dim, dim, generator=generator, dtype=torch.float64)
    size = torch.randn(count, 1, 1, generator=generator, dtype=torch.float64).exp()
    covariance = size * (factor @ factor.mT + 0.1 * torch.eye(dim, dtype=torch.float64))
    zero = torch.zeros(count, dim, dtype=torch.float64)
    return sample(zero, covariance, 1, generator)[0], covariance


def random_mask(count: int, dim: int) -> torch.Tensor:
    return torch.rand(count, dim, generator=torch.Generator().manual_seed(5)) > 0.3


@pytest.mark.parametrize('masked', [False, True])
def test_coverage_of_the_true_covariance_is_within_monte_carlo_error(masked):
    residual, covariance = gaussians(20000, 6)
    mask = random_mask(20000, 6) if masked else None
    values = pit(residual, covariance, mask)
    error = (coverage(values) - LEVELS) / (LEVELS * (1 - LEVELS) / len(residual)).sqrt()
    assert error.abs().max() < 4  # standard errors, over 99 correlated levels
    assert uniformity(values)[1] > 1e-3
    assert expected_calibration_error(values) < 0.01


def test_coverage_per_block_is_within_monte_carlo_error():
    residual, covariance = gaussians(20000, 6)
    values = pit(*split_blocks(residual, covariance, random_mask(20000, 6), block=2))
    for column in values.mT:
        kept = (~column.isnan()).sum()
        error = (coverage(column) - LEVELS) / (LEVELS * (1 - LEVELS) / kept).sqrt()
        assert error.abs().max() < 4


def test_wrong_scale_is_seen_and_has_the_right_sign():
    residual, covariance = gaussians(4000, 4)
    expected = torch.tensor([stats.chi2.cdf(stats.chi2.ppf(p, 4) / 4, 4) for p in LEVELS.tolist()])
    found = coverage(pit(residual, covariance / 4))
    assert (found - expected).abs().max() < 0.04
    seen = Distribution.of_residuals
    assert calibration_scores(seen(residual, covariance / 4)).chi2 == pytest.approx(4, rel=0.05)
    assert calibration_scores(seen(residual, 4 * covariance)).covered(0.9) > 0.99


def test_pit_ignores_what_is_missing_and_is_nan_without_anything():
    residual, covariance = gaussians(5, 4)
    mask = torch.tensor([True, False, True, False]).repeat(5, 1)
    mask[4] = False
    kept = [0, 2]
    alone = pit(residual[:, kept], covariance[:, kept][:, :, kept])
    residual[:, [1, 3]] = torch.nan
    found = pit(residual, covariance, mask)
    assert torch.allclose(found[:4], alone[:4])
    assert found[4].isnan()


def test_pit_is_invariant_under_linear_maps():
    residual, covariance = gaussians(10, 4)
    matrix = torch.randn(4, 4, dtype=torch.float64)
    moved = pit(residual @ matrix.mT, matrix @ covariance @ matrix.mT)
    assert torch.allclose(moved, pit(residual, covariance), atol=1e-8)


def test_marginal_pit_sees_bias():
    residual, covariance = gaussians(4000, 2)
    std = covariance.diagonal(dim1=-2, dim2=-1).sqrt()
    assert uniformity(marginal_pit(residual, covariance)[:, 0])[1] > 1e-3
    assert marginal_pit(residual + std, covariance).mean() > 0.7


def test_split_blocks_takes_the_diagonal_blocks():
    residual, covariance = gaussians(3, 6)
    parts, blocks, mask = split_blocks(residual, covariance, block=2)
    assert mask.all()
    assert torch.equal(parts[:, 1], residual[:, 2:4])
    assert torch.equal(blocks[:, 2], covariance[:, 4:, 4:])
    with pytest.raises(ValueError, match='block 4'):
        split_blocks(residual, covariance, block=4)


def test_ence_is_small_for_the_truth_and_known_for_a_wrong_scale():
    residual, covariance = gaussians(20000, 4)
    assert reliability(residual, covariance).ence < 0.05
    # Standard deviations twice too small: |2 − 1| in every bin.
    assert reliability(residual, covariance / 4).ence == pytest.approx(1, abs=0.1)
    predicted = reliability(residual, covariance).predicted
    assert (predicted.diff() > 0).all()


def test_sharpness_of_a_known_ellipse():
    covariance = torch.diag(torch.tensor([4.0, 9.0], dtype=torch.float64)).repeat(3, 1, 1)
    result = sharpness(covariance)
    assert result.rms_std == pytest.approx(math.sqrt(6.5))
    assert result.geometric_std == pytest.approx(math.sqrt(6))
    assert result.ellipse_area == pytest.approx(math.pi * stats.chi2.ppf(0.9, 2) * 6)
    one_missing = torch.tensor([[True, False]] * 3)
    assert sharpness(covariance, one_missing).geometric_std == pytest.approx(2)
