"""Woodbury and the determinant lemma against the dense Gaussian."""

import pytest
import torch
from helpers import random_covariance

from hetpose.ops.gaussian import negative_log_likelihood
from hetpose.ops.low_rank import LowRankCovariance, low_rank_energy
from hetpose.ops.spd import safe_cholesky

DIM, BATCH = 8, 6


def made(rank=3, seed=0, size=1.0):
    generator = torch.Generator().manual_seed(seed)
    anchor = safe_cholesky(random_covariance(dim=DIM).double())
    diagonal = torch.rand(BATCH, DIM, generator=generator).double() + 0.05
    directions = size * torch.randn(BATCH, DIM, rank, generator=generator).double()
    residual = 3 * torch.randn(BATCH, DIM, generator=generator).double()
    return LowRankCovariance(anchor, diagonal, directions), residual


@pytest.mark.parametrize('rank', [0, 1, 3, DIM])
def test_the_energy_is_that_of_the_dense_matrix(rank):
    covariance, white = made(rank)
    dense = (
        torch.diag_embed(covariance.diagonal) + covariance.directions @ covariance.directions.mT
    )
    distance, logarithm = low_rank_energy(white, covariance.diagonal, covariance.directions)
    torch.testing.assert_close(logarithm, torch.linalg.slogdet(dense)[1])
    expected = (white[:, None] @ torch.linalg.solve(dense, white[..., None]))[:, 0, 0]
    torch.testing.assert_close(distance, expected)


def test_directions_a_thousand_times_the_diagonal_cancel_nothing_in_float32():
    covariance, white = made(size=1e3)
    exact = low_rank_energy(white, covariance.diagonal, covariance.directions)[0]
    single = (white.float(), covariance.diagonal.float(), covariance.directions.float())
    torch.testing.assert_close(low_rank_energy(*single)[0].double(), exact, rtol=1e-2, atol=0)


@pytest.mark.parametrize('missing', ['nobody', 'some', 'everybody'])
def test_the_likelihood_and_its_gradient_are_those_of_the_dense_matrix(missing):
    covariance, residual = made()
    mask = torch.ones(BATCH, DIM, dtype=torch.bool)
    if missing != 'nobody':
        mask[:: 2 if missing == 'some' else 1, 2:4] = False
    covariance.diagonal.requires_grad_()
    covariance.directions.requires_grad_()
    inputs = (covariance.diagonal, covariance.directions)
    fast = covariance.negative_log_likelihood(residual, mask)
    dense = negative_log_likelihood(residual, covariance.matrix, mask)
    torch.testing.assert_close(fast, dense)
    ours = torch.autograd.grad(fast.sum(), inputs)
    theirs = torch.autograd.grad(dense.sum(), inputs)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_without_a_mask_everything_is_present():
    covariance, residual = made()
    everything = torch.ones(BATCH, DIM, dtype=torch.bool)
    with_mask = covariance.negative_log_likelihood(residual, everything)
    torch.testing.assert_close(covariance.negative_log_likelihood(residual), with_mask)


def test_the_cholesky_factor_is_lower_and_belongs_to_the_matrix():
    covariance, _ = made()
    factor = covariance.scale_tril
    assert torch.equal(factor, factor.tril())
    torch.testing.assert_close(factor @ factor.mT, covariance.matrix)
