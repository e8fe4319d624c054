"""Laws that objectives obey, and the pairs that are refused."""

import pytest
import torch
from helpers import random_covariance
from mmpose.registry import MODELS

from hetpose.ops.covariance import Covariance
from hetpose.ops.spd import symmetric_sqrt

BATCH, DIM = 5, 3
FULL = [
    'NLLObjective',
    'FaithfulObjective',
    'KLObjective',
    'W2Objective',
    'W2BoundObjective',
    'MSEObjective',
]
DIAGONAL = ['DiagonalNLLObjective', 'BetaNLLObjective']
DECOUPLED = ['FaithfulObjective', 'W2Objective', 'W2BoundObjective']


def inputs(diagonal: bool = False):
    mean, target = torch.randn(2, BATCH, DIM).double()
    matrix, label = random_covariance(2, BATCH, dim=DIM)
    if diagonal:
        matrix = torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1))
    return mean.requires_grad_(), target, matrix, symmetric_sqrt(label)


def build(name: str):
    return MODELS.build(dict(type=name))


def rooted(matrix: torch.Tensor) -> Covariance:
    return Covariance(matrix=matrix)


@pytest.mark.parametrize('name', FULL + DIAGONAL)
def test_one_finite_value_per_sample(name: str) -> None:
    mean, target, matrix, root = inputs(diagonal=name in DIAGONAL)
    loss = build(name)(mean, target, rooted(matrix), root)
    assert loss.shape == (BATCH,)
    loss.sum().backward()
    assert mean.grad is not None
    assert mean.grad.isfinite().all()


@pytest.mark.parametrize(
    'name', ['NLLObjective', 'FaithfulObjective', 'W2Objective', 'KLObjective']
)
def test_a_missing_target_is_the_problem_without_it(name: str) -> None:
    mean, target, matrix, root = inputs()
    mask = torch.tensor([True, False, True]).expand(BATCH, DIM)
    keep = [0, 2]
    if name == 'KLObjective':  # its label is squared: rows of a factor are those of the marginal
        root = symmetric_sqrt(matrix)
    masked = build(name)(mean, target, rooted(matrix), root, mask)
    small_root = symmetric_sqrt((root @ root.mT)[:, keep][:, :, keep])
    small = rooted(matrix[:, keep][:, :, keep])
    expected = build(name)(mean[:, keep], target[:, keep], small, small_root)
    torch.testing.assert_close(masked, expected)


@pytest.mark.parametrize('name', DIAGONAL)
def test_a_missing_diagonal_target_is_left_out(name: str) -> None:
    mean, target, matrix, _ = inputs(diagonal=True)
    mask = torch.tensor([True, False, True]).expand(BATCH, DIM)
    masked = build(name)(mean, target, rooted(matrix), None, mask)
    keep = [0, 2]
    small = rooted(matrix[:, keep][:, :, keep])
    torch.testing.assert_close(masked, build(name)(mean[:, keep], target[:, keep], small))


@pytest.mark.parametrize('name', DECOUPLED)
def test_decoupled_means_learn_as_by_the_squared_error(name: str) -> None:
    mean, target, matrix, root = inputs()
    (ours,) = torch.autograd.grad(build(name)(mean, target, rooted(matrix), root).sum(), mean)
    (mse,) = torch.autograd.grad(build('MSEObjective')(mean, target, None).sum(), mean)
    torch.testing.assert_close(ours, mse)


def test_the_attribute_says_who_is_decoupled() -> None:
    found = [name for name in FULL + DIAGONAL if build(name).decoupled]
    assert sorted(found) == sorted(DECOUPLED)


def test_the_bound_is_above_the_distance_and_both_vanish_at_the_target() -> None:
    mean, target, matrix, root = inputs()
    exact = build('W2Objective')(mean, target, rooted(matrix), root)
    bound = build('W2BoundObjective')(mean, target, rooted(matrix), root)
    assert (bound >= exact - 1e-9).all()
    for name in ('W2Objective', 'W2BoundObjective'):
        zero = build(name)(target, target, rooted(root @ root.mT), root)
        torch.testing.assert_close(zero, torch.zeros_like(zero), atol=1e-6, rtol=0)


def test_the_diagonal_likelihood_is_the_full_one_of_a_diagonal() -> None:
    mean, target, matrix, _ = inputs(diagonal=True)
    full = build('NLLObjective')(mean, target, rooted(matrix))
    torch.testing.assert_close(build('DiagonalNLLObjective')(mean, target, rooted(matrix)), full)


def test_beta_goes_from_the_likelihood_to_the_squared_error() -> None:
    mean, target, matrix, _ = inputs(diagonal=True)

    def gradient(beta: float) -> torch.Tensor:
        objective = MODELS.build(dict(type='BetaNLLObjective', beta=beta))
        return torch.autograd.grad(objective(mean, target, rooted(matrix)).sum(), mean)[0]

    nll = build('DiagonalNLLObjective')(mean, target, rooted(matrix)).sum()
    torch.testing.assert_close(gradient(0.0), torch.autograd.grad(nll, mean)[0])
    torch.testing.assert_close(gradient(1.0), mean.detach() - target)


def test_the_calibrated_divergence_is_stationary_at_the_average() -> None:
    """With r rᵀ on average S, the optimum is (Σ̃ + S) / 2."""
    residual = torch.randn(400, DIM).double()
    sample = residual.mT @ residual / len(residual)
    label = random_covariance(dim=DIM)
    optimum = ((label + sample) / 2).requires_grad_()
    objective = MODELS.build(dict(type='KLObjective', target_floor=1e-12))
    root = symmetric_sqrt(label).expand(len(residual), DIM, DIM)
    covariance = Covariance(matrix=optimum.expand(len(residual), DIM, DIM))
    loss = objective(torch.zeros_like(residual), residual, covariance, root).mean()
    (gradient,) = torch.autograd.grad(loss, optimum)
    torch.testing.assert_close(
        gradient + gradient.mT, torch.zeros_like(gradient), atol=1e-8, rtol=0
    )


@pytest.mark.parametrize(
    ('objective', 'covariance', 'dim', 'message'),
    [
        ('BetaNLLObjective', 'FactorCovariance', 2, 'diagonal covariance only'),
        ('DiagonalNLLObjective', 'CholeskyCovariance', 2, 'diagonal covariance only'),
        ('NLLObjective', 'NaturalCovariance', 2, 'dimension 1 only'),
        ('NLLObjective', 'ConstantCovariance', 2, 'nothing to train'),
        ('MSEObjective', 'FactorCovariance', 2, 'never trains'),
        ('NLLObjective', None, 2, 'needs a covariance parameterisation'),
    ],
)
def test_pairs_that_make_no_sense_are_refused(objective, covariance, dim, message) -> None:
    parameterisation = None if covariance is None else build(covariance)
    with pytest.raises(ValueError, match=message):
        build(objective).check(parameterisation, dim)


@pytest.mark.parametrize('name', ['W2Objective', 'W2BoundObjective', 'KLObjective'])
def test_a_missing_label_is_named(name: str) -> None:
    mean, target, matrix, _ = inputs()
    with pytest.raises(ValueError, match='needs target_root'):
        build(name)(mean, target, rooted(matrix))
