"""A mask integrates dimensions out exactly."""

import pytest
import torch
from helpers import random_covariance

from hetpose.ops.marginal import (
    count_present,
    either_cholesky,
    marginal_cholesky,
    marginal_residual,
    whiten,
)

PRESENT = [0, 2, 3]
MASK = torch.tensor([True, False, True, True, False])


def test_the_factor_is_that_of_the_smaller_matrix() -> None:
    covariance = random_covariance(3, dim=5, dtype=torch.float64)
    small = torch.linalg.cholesky(covariance[:, PRESENT][:, :, PRESENT])
    factor = marginal_cholesky(covariance, MASK)
    torch.testing.assert_close(factor[:, PRESENT][:, :, PRESENT], small)
    torch.testing.assert_close(
        factor[:, ~MASK][:, :, ~MASK], torch.eye(2).double().expand(3, 2, 2)
    )


def test_both_ways_in_agree() -> None:
    covariance = random_covariance(3, dim=5, dtype=torch.float64)
    factor = torch.linalg.cholesky(covariance)
    for mask in (None, MASK):
        torch.testing.assert_close(
            either_cholesky(None, factor, mask), either_cholesky(covariance, None, mask)
        )


@pytest.mark.parametrize('both', [True, False])
def test_exactly_one_way_in(both: bool) -> None:
    matrix = torch.eye(2) if both else None
    with pytest.raises(ValueError, match='exactly one'):
        either_cholesky(matrix, matrix, None)


def test_a_diagonal_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ValueError, match='scale_tril'):
        either_cholesky(None, torch.diag(torch.tensor([1.0, -1.0])), None)


def test_a_missing_residual_is_nothing_even_if_it_is_nan() -> None:
    residual = torch.tensor([1.0, float('nan'), 2.0, 3.0, float('inf')])
    assert marginal_residual(residual, 5, MASK).tolist() == [1, 0, 2, 3, 0]


def test_count() -> None:
    like = torch.zeros(1, dtype=torch.float64)
    assert count_present(None, 5, like) == 5
    assert count_present(MASK, 5, like) == 3
    assert count_present(MASK, 5, like).dtype == torch.float64


@pytest.mark.parametrize('batch', [(), (3,), (4, 3), (2, 4, 3)])
def test_whitening_undoes_the_factor(batch: tuple[int, ...]) -> None:
    factor = torch.linalg.cholesky(random_covariance(3, dim=5, dtype=torch.float64))
    white = torch.randn(*batch, 5, dtype=torch.float64)
    residual = (factor @ white[..., None])[..., 0]
    torch.testing.assert_close(whiten(factor, residual), white.expand_as(residual))
