import math

import pytest
import torch

from hetpose.evaluation.functional.energy_score import (
    energy_score,
    energy_score_monte_carlo,
    expected_norm,
)


def spd(count: int, dim: int) -> torch.Tensor:
    factor = torch.randn(count, dim, dim, dtype=torch.float64)
    return factor @ factor.mT + 0.01 * torch.eye(dim, dtype=torch.float64)


def test_expected_norm_of_a_centred_isotropic_gaussian_is_the_chi_mean():
    for dim in (1, 2, 3, 28):
        exact = math.sqrt(2) * math.exp(math.lgamma((dim + 1) / 2) - math.lgamma(dim / 2))
        for size in (1e-6, 1.0, 1e8):
            variances = torch.full((dim,), size**2, dtype=torch.float64)
            found = expected_norm(variances, torch.zeros_like(variances)).item()
            assert found == pytest.approx(size * exact, rel=1e-9)


def test_expected_norm_without_variance_is_the_norm():
    offset = torch.tensor([3.0, 4.0], dtype=torch.float64)
    assert expected_norm(torch.zeros_like(offset), offset).item() == pytest.approx(5, rel=1e-9)
    assert expected_norm(torch.zeros_like(offset), torch.zeros_like(offset)).item() == 0


def test_one_dimension_is_the_crps_of_a_gaussian():
    z = torch.linspace(-4, 4, 33, dtype=torch.float64)
    std = 3.0
    density = (-z.square() / 2).exp() / math.sqrt(2 * math.pi)
    crps = std * (z * (2 * torch.special.ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi))
    covariance = torch.full((33, 1, 1), std**2, dtype=torch.float64)
    assert torch.allclose(energy_score(std * z[:, None], covariance), crps, rtol=1e-6)


@pytest.mark.parametrize('masked', [False, True])
def test_quadrature_agrees_with_the_unbiased_monte_carlo(masked):
    residual, covariance = 2 * torch.randn(400, 5, dtype=torch.float64), spd(400, 5)
    mask = torch.rand(400, 5) > 0.3 if masked else None
    difference = energy_score_monte_carlo(residual, covariance, mask, samples=40, seed=11)
    difference = difference - energy_score(residual, covariance, mask)
    assert difference.mean().abs() < 4 * difference.std() / math.sqrt(400)


def test_few_draws_are_unbiased_and_seeded():
    residual, covariance = (
        torch.randn(20000, 2, dtype=torch.float64),
        spd(1, 2).expand(20000, 2, 2),
    )
    exact = energy_score(residual[:2000], covariance[:2000]).mean()
    rough = energy_score_monte_carlo(residual, covariance, samples=2, seed=3)
    assert torch.equal(rough, energy_score_monte_carlo(residual, covariance, samples=2, seed=3))
    assert rough.mean().item() == pytest.approx(exact.item(), rel=0.05)


def test_it_is_proper_the_truth_scores_best():
    covariance = spd(1, 3)
    residual = (
        torch.randn(6000, 3, dtype=torch.float64) @ torch.linalg.cholesky_ex(covariance)[0][0].T
    )
    scores = {
        scale: energy_score(residual, (scale * covariance).expand(6000, 3, 3)).mean()
        for scale in (0.5, 1.0, 2.0)
    }
    assert min(scores, key=scores.get) == 1.0


def test_missing_dimensions_do_not_count():
    residual, covariance = torch.randn(3, 4, dtype=torch.float64), spd(3, 4)
    mask = torch.tensor([[True, False, True, False]] * 3)
    alone = energy_score(residual[:, ::2], covariance[:, ::2, ::2])
    assert torch.allclose(energy_score(residual, covariance, mask), alone, rtol=1e-6)


@pytest.mark.parametrize('score', [energy_score, energy_score_monte_carlo])
def test_what_a_mask_hides_may_be_nan(score):
    residual, covariance = torch.randn(3, 4).double(), spd(3, 4)
    mask = torch.tensor([True, True, False, True]).expand(3, 4)
    expected = score(residual, covariance, mask)
    residual[:, 2] = torch.nan
    torch.testing.assert_close(score(residual, covariance, mask), expected)
