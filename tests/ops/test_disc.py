import math

import pytest
import torch
from scipy import integrate

from hetpose.ops import student
from hetpose.ops.disc import disc_probability


def covariance(major: float, minor: float, degrees: float) -> torch.Tensor:
    angle = math.radians(degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    turn = torch.tensor([[cos, -sin], [sin, cos]], dtype=torch.float64)
    axes = torch.diag(torch.tensor([major**2, minor**2], dtype=torch.float64))
    return turn @ axes @ turn.mT


def by_angle(major: float, minor: float, radius: float) -> float:
    """1 − E exp(−r² / 2uᵀΣu) over directions u, by adaptive quadrature: an independent form."""

    def missed(log_angle: float) -> float:
        # The angle from the shorter axis, in logarithms: all that is sharp is sharp near 0.
        angle = math.exp(log_angle)
        spread = (major * math.sin(angle)) ** 2 + (minor * math.cos(angle)) ** 2
        return angle * math.exp(-(radius**2) / (2 * spread))

    points = [math.log(minor / major), math.log(radius / major), 0.0]
    low, high = -40.0, math.log(math.pi / 2)
    inside = sorted(point for point in points if low < point < high)
    edges = [low, *inside, high]
    parts = [
        integrate.quad(missed, a, b, epsabs=1e-13, limit=400)[0]
        for a, b in zip(edges[:-1], edges[1:], strict=True)
    ]
    return 1 - sum(parts) * 2 / math.pi


def test_isotropic_is_the_chi_squared_distribution():
    radius = torch.linspace(0.1, 5, 20, dtype=torch.float64)
    sigma = 4 * torch.eye(2, dtype=torch.float64).expand(20, 2, 2)
    expected = 1 - torch.exp(-(radius**2) / 8)
    torch.testing.assert_close(disc_probability(sigma, radius), expected, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize('ratio', [1.01, 2, 10, 300, 1e4, 1e6])
@pytest.mark.parametrize('degrees', [0, 90])
@pytest.mark.parametrize('radius', [0.01, 0.5, 1.0, 3.0, 40.0])
def test_it_is_exact_however_elongated(ratio, degrees, radius):
    sigma = covariance(ratio, 1.0, degrees)
    expected = by_angle(ratio, 1.0, radius)
    assert disc_probability(sigma, radius).item() == pytest.approx(expected, abs=1e-10)


def test_turning_the_ellipse_changes_nothing():
    radius = torch.linspace(0.2, 12, 30, dtype=torch.float64)
    straight = disc_probability(covariance(30.0, 1.0, 0), radius)
    torch.testing.assert_close(disc_probability(covariance(30.0, 1.0, 17), radius), straight)


def test_float32_is_computed_in_float64():
    sigma = covariance(300.0, 1.0, 0)
    found = disc_probability(sigma.float(), 2.0)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(disc_probability(sigma, 2.0).item(), abs=1e-7)


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
    line = torch.diag(torch.tensor([4.0, 0.0], dtype=torch.float64))  # no spread across it
    assert disc_probability(line, 2.0).item() == pytest.approx(
        math.erf(1 / math.sqrt(2)), abs=1e-10
    )


@pytest.mark.parametrize('nu', [2.1, 4.0, 1e9, math.inf])
@pytest.mark.parametrize('radius', [1e-3, 1.0, 100.0, 1e30])
def test_a_known_place_of_a_student_is_certain(nu, radius):
    flat = torch.diag(torch.tensor([4.0, 0.0], dtype=torch.float64))
    found = disc_probability(
        torch.stack([torch.zeros(2, 2, dtype=torch.float64), flat]), radius, torch.tensor(nu)
    )
    assert found[0] == 1
    assert 0 < found[1] <= 1


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


@pytest.mark.parametrize('ratio', [1.5, 300.0, 1e5])
def test_an_elongated_student_in_a_disc(ratio):
    nu, radius = 4.0, 2.0
    scale = torch.diag(torch.tensor([ratio**2, 1.0], dtype=torch.float64))

    def missed(log_angle):
        angle = math.exp(log_angle)
        spread = (ratio * math.sin(angle)) ** 2 + math.cos(angle) ** 2
        return angle * (1 + radius**2 / (nu * spread)) ** (-nu / 2)

    edges = [-40.0, -math.log(ratio), math.log(math.pi / 2)]
    parts = [
        integrate.quad(missed, a, b, epsabs=1e-13, limit=400)[0]
        for a, b in zip(edges[:-1], edges[1:], strict=True)
    ]
    covariance = scale * nu / (nu - 2)
    found = disc_probability(covariance, radius, torch.tensor(nu, dtype=torch.float64))
    assert found.item() == pytest.approx(1 - sum(parts) * 2 / math.pi, abs=1e-9)
