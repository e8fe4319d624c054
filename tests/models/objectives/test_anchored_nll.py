"""A prior around the anchor: its optimum, its bound, and what it refuses."""

import pytest
import torch
from helpers import random_covariance

from hetpose.models.covariance import AnchoredCovariance, CholeskyCovariance, ConstantCovariance
from hetpose.models.objectives import AnchoredNLLObjective, NLLObjective
from hetpose.ops.covariance import Covariance

DIM, COUNT = 3, 400


def anchored(matrix: torch.Tensor, anchor: torch.Tensor) -> Covariance:
    return Covariance(matrix=matrix, anchor=anchor)


def test_without_a_prior_it_is_the_likelihood() -> None:
    mean, target = torch.randn(2, 5, DIM).double()
    covariance = anchored(random_covariance(5, dim=DIM), random_covariance(dim=DIM))
    ours = AnchoredNLLObjective(prior=0.0)(mean, target, covariance)
    torch.testing.assert_close(ours, NLLObjective()(mean, target, covariance))


@pytest.mark.parametrize('prior', [0.1, 1.0])
def test_the_optimum_is_a_weighted_mean_of_residuals_and_anchor(prior: float) -> None:
    target = torch.randn(COUNT, DIM).double() @ torch.randn(DIM, DIM).double()
    anchor = random_covariance(dim=DIM)
    seen = target.mT @ target / COUNT
    best = ((seen + prior * anchor) / (1 + prior)).requires_grad_()
    covariance = anchored(best.expand(COUNT, DIM, DIM), anchor)
    loss = AnchoredNLLObjective(prior)(torch.zeros_like(target), target, covariance).mean()
    (gradient,) = torch.autograd.grad(loss, best)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient), atol=1e-9, rtol=0)


def test_the_anchor_itself_costs_nothing() -> None:
    mean, target = torch.randn(2, 5, DIM).double()
    anchor = random_covariance(dim=DIM)
    covariance = anchored(anchor.expand(5, DIM, DIM), anchor)
    ours = AnchoredNLLObjective(prior=7.0)(mean, target, covariance)
    torch.testing.assert_close(ours, NLLObjective()(mean, target, covariance))


def test_a_missing_target_is_the_problem_without_it() -> None:
    mean, target = torch.randn(2, 5, DIM).double()
    matrix, anchor = random_covariance(5, dim=DIM), random_covariance(dim=DIM)
    keep = [0, 2]
    mask = torch.tensor([True, False, True]).expand(5, DIM)
    masked = AnchoredNLLObjective()(mean, target, anchored(matrix, anchor), None, mask)
    small = anchored(matrix[:, keep][:, :, keep], anchor[keep][:, keep])
    expected = AnchoredNLLObjective()(mean[:, keep], target[:, keep], small)
    torch.testing.assert_close(masked, expected)


def test_a_covariance_names_the_anchor_that_it_starts_from() -> None:
    parameterisation = AnchoredCovariance(floor=1e-2)
    parameterisation.set_anchor(random_covariance(dim=DIM))
    raw = torch.zeros(2, parameterisation.num_outputs(DIM)).double()
    covariance = parameterisation(raw, DIM)
    torch.testing.assert_close(covariance.anchor.expand(2, DIM, DIM), covariance.matrix)
    assert covariance.detach().anchor is covariance.anchor


def test_it_refuses_what_has_no_anchor() -> None:
    with pytest.raises(ValueError, match='anchor, such as AnchoredCovariance, got Cholesky'):
        AnchoredNLLObjective().check(CholeskyCovariance())
    with pytest.raises(ValueError, match='nothing to train'):
        AnchoredNLLObjective().check(ConstantCovariance())
    with pytest.raises(ValueError, match='needs a covariance with an anchor'):
        AnchoredNLLObjective()(
            torch.zeros(1, DIM), torch.zeros(1, DIM), Covariance(matrix=torch.eye(DIM)[None])
        )
    with pytest.raises(ValueError, match='prior must not be negative, got -1'):
        AnchoredNLLObjective(prior=-1)
