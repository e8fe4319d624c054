"""The anchored covariance with few outputs."""

import pytest
import torch
from helpers import random_covariance

from hetpose.models.covariance import LowRankAnchoredCovariance
from hetpose.models.objectives import NLLObjective

DIM, FLOOR = 6, 1e-3
ANCHOR = random_covariance(dim=DIM) + 0.5 * torch.eye(DIM)


def anchored(rank=2, **changes):
    covariance = LowRankAnchoredCovariance(rank=rank, floor=FLOOR, **changes)
    covariance.set_anchor(ANCHOR)
    return covariance


@pytest.mark.parametrize('rank', [0, 2, 50])
def test_zero_outputs_give_the_anchor(rank):
    covariance = anchored(rank)
    raw = torch.zeros(2, covariance.num_outputs(DIM)).double()
    torch.testing.assert_close(covariance(raw, DIM).matrix, ANCHOR.expand(2, DIM, DIM))


def test_every_output_has_a_gradient_at_the_start():
    covariance = anchored()
    raw = torch.zeros(4, covariance.num_outputs(DIM)).double().requires_grad_()
    residual = 2 * torch.randn(4, DIM, generator=torch.Generator().manual_seed(0)).double()
    loss = NLLObjective()(torch.zeros_like(residual), residual, covariance(raw, DIM))
    loss.sum().backward()
    assert (raw.grad.abs().amax(0) > 0).all()


def test_an_anchor_below_the_floor_is_raised_so_that_no_output_goes_below_it():
    covariance = LowRankAnchoredCovariance(rank=2, floor=FLOOR)
    covariance.set_anchor(torch.diag(torch.tensor([1.0, 0.0, -0.5, 1.0, 2.0, 1e-9])).double())
    raw = torch.full((1, covariance.num_outputs(DIM)), -50.0).double()
    raw[:, DIM:] = 0.0
    assert torch.linalg.eigvalsh(covariance(raw, DIM).matrix).min() >= FLOOR * (1 - 1e-9)


def test_rank_zero_with_a_diagonal_anchor_is_diagonal():
    covariance = LowRankAnchoredCovariance(rank=0, floor=FLOOR)
    covariance.set_anchor(torch.diag(torch.arange(1.0, DIM + 1)).double())
    matrix = covariance(torch.randn(3, DIM).double(), DIM).matrix
    off = matrix - torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1))
    assert off.abs().max() == 0


def test_many_joints_need_few_outputs():
    assert LowRankAnchoredCovariance(rank=8).num_outputs(266) == 266 * 9


def test_a_negative_rank_is_refused():
    with pytest.raises(ValueError, match='rank must not be negative'):
        LowRankAnchoredCovariance(rank=-1)
