"""One Student-t for all samples: gross errors do not decide its scale."""

import pytest
import torch

from hetpose.ops import student
from hetpose.ops.student_moments import fit_student

DIM = 4


def scale_matrix() -> torch.Tensor:
    factor = torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(1)).double()
    return factor @ factor.mT + torch.eye(DIM).double()


def drawn(count: int, nu: float) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    zero = torch.zeros(DIM, dtype=torch.float64)
    return student.sample(zero, scale_matrix(), nu, count, generator)


@pytest.mark.parametrize('share', [1.0, 0.7])
def test_scale_and_tails_of_draws_are_found(share: float) -> None:
    residual = drawn(6000, 4.0)
    mask = torch.rand(residual.shape, generator=torch.Generator().manual_seed(2)) < share
    scale, nu = fit_student(residual.where(mask, 1e6), mask)
    torch.testing.assert_close(scale, scale_matrix(), rtol=0.12, atol=0.12)
    assert nu == pytest.approx(4, rel=0.15)


def test_no_neighbour_is_more_likely() -> None:
    residual = drawn(2000, 4.0)
    mask = torch.ones_like(residual, dtype=torch.bool)
    scale, nu = fit_student(residual, mask)

    def cost(matrix: torch.Tensor, tails: float) -> float:
        return student.negative_log_likelihood(residual, matrix, tails).mean().item()

    best = cost(scale, nu)
    generator = torch.Generator().manual_seed(3)
    for _ in range(20):
        step = torch.eye(DIM) + 0.05 * torch.randn(DIM, DIM, generator=generator).double()
        assert cost(step @ scale @ step.mT, nu) > best
    assert cost(scale, nu * 1.3) > best
    assert cost(scale, nu / 1.3) > best


def test_gaussian_errors_have_light_tails_and_their_own_covariance() -> None:
    residual = drawn(4000, torch.inf)
    scale, nu = fit_student(residual, torch.ones_like(residual, dtype=torch.bool))
    assert nu > 30
    ratio = nu / (nu - 2)
    torch.testing.assert_close(ratio * scale, scale_matrix(), rtol=0.1, atol=0.1)


def test_tails_stay_above_the_lowest() -> None:
    residual = drawn(2000, 1.2)
    mask = torch.ones_like(residual, dtype=torch.bool)
    assert 2.1 < fit_student(residual, mask)[1] < 2.2
    assert fit_student(residual, mask, lowest=0.5)[1] == pytest.approx(1.2, rel=0.15)
