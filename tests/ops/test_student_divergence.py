"""The KL divergence of Student-t distributions against sampling, integration and the Gaussian."""

import pytest
import torch
from helpers import random_covariance
from scipy import integrate, stats

from hetpose.ops import gaussian, student
from hetpose.ops.student_divergence import expected_log_tail, kl_divergence

D = torch.float64


def pair(dim: int = 4, *batch: int):
    means = torch.randn(2, *batch, dim, dtype=D)
    scales = random_covariance(2, *batch, dim=dim)
    return means[0], scales[0], means[1], scales[1]


@pytest.mark.parametrize('ratio', [1e-8, 1.0, 1e8])
def test_log_tail_against_integration(ratio):
    found = expected_log_tail(
        torch.tensor([ratio], dtype=D), torch.tensor([0.7 * ratio**0.5]), torch.tensor(3.0)
    )

    def integrand(z):
        return stats.norm.pdf(z) * torch.log1p(torch.tensor(ratio * (0.7 + z) ** 2 / 3, dtype=D))

    expected = integrate.quad(lambda z: float(integrand(z)), -12, 12, epsabs=0, limit=400)[0]
    assert found.item() == pytest.approx(expected, rel=1e-7)


def test_two_gaussians():
    mean_p, scale_p, mean_q, scale_q = pair(4, 5)
    found = kl_divergence(mean_p, scale_p, torch.inf, mean_q, scale_q, torch.inf)
    expected = gaussian.kl_divergence(mean_p, scale_p, mean_q, scale_q)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize('nu', [2.1, 6.0, 50.0])
def test_is_zero_between_equals_and_positive_else(nu):
    mean_p, scale_p, mean_q, scale_q = pair(3, 6)
    same = kl_divergence(mean_p, scale_p, nu, mean_p, scale_p, nu)
    torch.testing.assert_close(same, torch.zeros(6, dtype=D), rtol=0, atol=1e-9)
    assert (kl_divergence(mean_p, scale_p, nu, mean_q, scale_q, 3.0) > 0).all()
    assert (kl_divergence(mean_p, scale_p, nu, mean_p, scale_p, nu + 2) > 0).all()


@pytest.mark.parametrize(('nu_p', 'nu_q'), [(torch.inf, 2.5), (3.0, 8.0), (5.0, torch.inf)])
def test_against_sampling(nu_p, nu_q):
    mean_p, scale_p, mean_q, scale_q = pair(3)
    draws = student.sample(mean_p, scale_p, nu_p, 400_000, torch.Generator().manual_seed(0))
    gap = student.negative_log_likelihood(
        draws - mean_q, scale_q, nu_q
    ) - student.negative_log_likelihood(draws - mean_p, scale_p, nu_p)
    found = kl_divergence(mean_p, scale_p, nu_p, mean_q, scale_q, nu_q).item()
    assert found == pytest.approx(gap.mean().item(), abs=5 * gap.std().item() / 400_000**0.5)


def test_masked_is_marginal():
    mean_p, scale_p, mean_q, scale_q = pair(4, 3)
    mask = torch.tensor([True, False, True, True])
    found = kl_divergence(mean_p, scale_p, 4.0, mean_q, scale_q, 3.0, mask)
    expected = kl_divergence(
        mean_p[:, mask],
        scale_p[:, mask][:, :, mask],
        4.0,
        mean_q[:, mask],
        scale_q[:, mask][:, :, mask],
        3.0,
    )
    torch.testing.assert_close(found, expected)
