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


@pytest.mark.parametrize('nu', [2.001, 2.1, 2.5, 30.0, torch.inf])
@pytest.mark.parametrize('dim', [1, 4])
def test_from_a_gaussian_is_the_closed_form(nu, dim):
    mean_p, scale_p, mean_q, scale_q = pair(dim, 3)
    found = kl_divergence(mean_p, scale_p, nu, mean_q, scale_q, torch.inf)
    for i in range(3):
        law = stats.multivariate_t(mean_p[i].numpy(), scale_p[i].numpy(), nu)
        spread = student.covariance_from_scale(scale_p[i], nu)
        gap = (mean_p - mean_q)[i]
        trace = torch.linalg.solve(scale_q[i], spread + torch.outer(gap, gap)).trace()
        expected = (gaussian.LOG_2PI * dim + scale_q[i].logdet() + trace) / 2 - float(
            law.entropy()
        )
        torch.testing.assert_close(found[i], expected.double(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize('nu_p', [2.05, 2.5, 20.0, 1e4, 1e8])
@pytest.mark.parametrize('nu_q', [0.5, 5.0, 1e4, 1e10])
@pytest.mark.parametrize('variance', [1e-4, 1.0, 1e4])
def test_a_heavy_tail_is_followed_to_its_end(nu_p, nu_q, variance):
    zero, one = torch.zeros(1, dtype=D), torch.ones(1, 1, dtype=D)
    found = kl_divergence(zero, variance * one, nu_p, zero, one, nu_q).item()
    log_x = torch.linspace(-60, 120, 20_001, dtype=D)  # x > 0, the other side is the same
    x = log_x.exp()[:, None]
    own = -student.negative_log_likelihood(x, variance * one, nu_p)
    other = -student.negative_log_likelihood(x, one, nu_q)
    expected = 2 * torch.trapezoid((own - other) * (own + log_x).exp(), log_x).item()
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize('nu', [0.5, 2.0])
def test_without_a_covariance_a_gaussian_is_infinitely_far(nu):
    mean_p, scale_p, mean_q, scale_q = pair(3)
    assert kl_divergence(mean_p, scale_p, nu, mean_q, scale_q, torch.inf) == torch.inf
    assert kl_divergence(mean_p, scale_p, nu, mean_q, scale_q, 4.0).isfinite()


def test_a_batch_of_tails_of_both_kinds():
    mean_p, scale_p, mean_q, scale_q = pair(3, 4)
    nu_p = torch.tensor([2.5, torch.inf, 3.0, torch.inf], dtype=D)
    nu_q = torch.tensor([torch.inf, torch.inf, 4.0, 5.0], dtype=D)
    found = kl_divergence(mean_p, scale_p, nu_p, mean_q, scale_q, nu_q)
    for i in range(4):
        single = kl_divergence(mean_p[i], scale_p[i], nu_p[i], mean_q[i], scale_q[i], nu_q[i])
        torch.testing.assert_close(found[i], single, rtol=1e-9, atol=1e-9)
