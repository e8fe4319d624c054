import math

import pytest
import torch

from hetpose.ops import student
from hetpose.ops.disc import disc_probability


def covariance(major: float, minor: float, degrees: float) -> torch.Tensor:
    angle = math.radians(degrees)
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return (turn @ torch.diag(torch.tensor([major**2, minor**2])) @ turn.mT).double()


def test_isotropic_is_the_chi_squared_distribution():
    radius = torch.linspace(0.1, 5, 20, dtype=torch.float64)
    sigma = 4 * torch.eye(2, dtype=torch.float64).expand(20, 2, 2)
    torch.testing.assert_close(disc_probability(sigma, radius), 1 - torch.exp(-(radius**2) / 8))


@pytest.mark.parametrize(('ratio', 'tolerance'), [(2, 1e-9), (4, 1e-5), (10, 1e-2)])
@pytest.mark.parametrize('degrees', [0, 17, 45, 90])
def test_quadrature_has_converged(ratio, tolerance, degrees):
    radius = torch.linspace(0.2, 12, 30, dtype=torch.float64)
    sigma = covariance(ratio, 1.0, degrees)
    exact = disc_probability(sigma, radius, nodes=20_000)
    assert (disc_probability(sigma, radius) - exact).abs().max() < tolerance


def test_monte_carlo():
    sigma = covariance(3.0, 1.0, 30)
    draws = torch.linalg.cholesky_ex(sigma).L @ torch.randn(2, 200_000, dtype=torch.float64)
    for radius in (0.5, 2.0, 5.0):
        share = (draws.norm(dim=0) <= radius).double().mean()
        assert disc_probability(sigma, radius).item() == pytest.approx(share.item(), abs=5e-3)


def test_limits():
    sigma = covariance(2.0, 0.5, 10)
    assert disc_probability(sigma, 0.0).item() == 0
    assert disc_probability(sigma, 1e6).item() == pytest.approx(1)
    assert disc_probability(torch.zeros(2, 2), 1.0).item() == 1


def test_a_student_in_a_disc_against_sampling():
    covariance = torch.tensor([[3.0, 1.0], [1.0, 0.8]], dtype=torch.float64)
    nu = torch.tensor(3.0, dtype=torch.float64)
    draws = student.sample(
        torch.zeros(2, dtype=torch.float64),
        student.scale_from_covariance(covariance, nu),
        nu,
        400_000,
        torch.Generator().manual_seed(0),
    )
    for radius in (0.5, 2.0, 8.0):
        found = disc_probability(covariance, radius, degrees_of_freedom=nu).item()
        share = (draws.norm(dim=-1) <= radius).double().mean().item()
        assert found == pytest.approx(share, abs=0.004)
    endless = torch.tensor(torch.inf, dtype=torch.float64)
    gaussian = disc_probability(covariance, 1.0)
    torch.testing.assert_close(
        disc_probability(covariance, 1.0, degrees_of_freedom=endless), gaussian
    )
