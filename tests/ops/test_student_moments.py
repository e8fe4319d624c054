"""The scale of a Student-t is found under gross errors and with missing values."""

import torch
from helpers import random_covariance

from hetpose.ops.moments import pair_sums, residual_covariance
from hetpose.ops.student import sample
from hetpose.ops.student_moments import student_scale

DIM, COUNT, NU = 4, 4000, 3.0


def drawn() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    scale = random_covariance(dim=DIM)
    generator = torch.Generator().manual_seed(0)
    zero = torch.zeros(COUNT, DIM, dtype=torch.float64)
    residual = sample(zero, scale.expand(COUNT, -1, -1), NU, 1, generator)[0]
    mask = torch.rand(COUNT, DIM, generator=generator) < 0.9
    return scale, torch.where(mask, residual, 0.0), mask


def test_the_scale_that_was_drawn_with_is_found() -> None:
    scale, residual, mask = drawn()
    found = student_scale(residual, mask, NU)
    assert (found - scale).norm() / scale.norm() < 0.1


def test_a_few_gross_errors_change_little() -> None:
    scale, residual, mask = drawn()
    residual[::50] *= 100
    found = student_scale(residual, mask, NU)
    assert (found - scale).norm() / scale.norm() < 0.15
    plain = residual_covariance(*pair_sums(residual, mask))
    assert plain.norm() > 50 * scale.norm()
