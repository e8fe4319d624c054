"""The Student-t likelihood as an objective: its value, its masks, and what it refuses."""

import pytest
import torch
from helpers import random_covariance
from mmpose.registry import MODELS

from hetpose.models.objectives import NLLObjective, StudentNLLObjective
from hetpose.models.regressors import HeteroscedasticRegressor
from hetpose.ops.covariance import Covariance
from hetpose.ops.gaussian import negative_log_likelihood as gaussian_nll
from hetpose.ops.student import negative_log_likelihood, predictive_nll, sample

DIM = 4
MASK = torch.tensor([True, True, False, True])
STUDENT = dict(type='StudentCovariance', scale=dict(type='CholeskyCovariance', floor=1e-3))


def problem(count: int = 6):
    mean, target = torch.randn(2, count, DIM, dtype=torch.float64)
    scale = random_covariance(count, dim=DIM)
    nu = 2.5 + 5 * torch.rand(count, dtype=torch.float64)
    return mean, target, Covariance.of_student(Covariance(matrix=scale), nu)


@pytest.mark.parametrize('mask', [None, MASK.expand(6, DIM)])
def test_is_the_likelihood_of_the_prediction(mask) -> None:
    mean, target, covariance = problem()
    found = StudentNLLObjective()(mean, target, covariance, None, mask)
    nu = covariance.degrees_of_freedom
    expected = negative_log_likelihood(target - mean, covariance.scale.matrix, nu, mask)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        predictive_nll(target - mean, covariance.matrix, nu, mask), expected
    )


@pytest.mark.parametrize('prior', [0.0, 0.3])
@pytest.mark.parametrize('mask', [None, MASK.expand(6, DIM)])
def test_marginals_add_the_likelihoods_of_the_joints(mask, prior) -> None:
    mean, target, covariance = problem()
    scale, nu = covariance.scale.matrix, covariance.degrees_of_freedom
    anchored = Covariance.of_student(Covariance(matrix=scale, anchor=scale[0]), nu)
    whole, both = (
        StudentNLLObjective(prior, marginals)(mean, target, anchored, None, mask)
        for marginals in (0.0, 0.5)
    )
    residual, expected = target - mean, 0
    for joint in (slice(0, 2), slice(2, 4)):
        here = None if mask is None else mask[:, joint]
        expected += negative_log_likelihood(residual[:, joint], scale[:, joint, joint], nu, here)
    torch.testing.assert_close(both - whole, 0.5 * expected)


def test_marginals_need_whole_joints() -> None:
    objective = StudentNLLObjective(marginals=1.0)
    with pytest.raises(ValueError, match='3 dimensions are no joints'):
        objective.check(MODELS.build(STUDENT), 3)
    with pytest.raises(ValueError, match='marginals must not be negative'):
        StudentNLLObjective(marginals=-1.0)


def test_prior_vanishes_at_the_anchor() -> None:
    mean, target, covariance = problem()
    anchor = covariance.scale.matrix[0]
    scale = Covariance(matrix=anchor.expand(6, DIM, DIM), anchor=anchor)
    nu = covariance.degrees_of_freedom
    at_anchor = Covariance.of_student(scale, nu)
    free = StudentNLLObjective()(mean, target, at_anchor)
    torch.testing.assert_close(StudentNLLObjective(prior=0.5)(mean, target, at_anchor), free)
    away = Covariance.of_student(Covariance(matrix=2 * scale.matrix, anchor=anchor), nu)
    assert (
        StudentNLLObjective(prior=0.5)(mean, target, away)
        > StudentNLLObjective()(mean, target, away)
    ).all()


@pytest.mark.parametrize(
    ('objective', 'covariance', 'message'),
    [
        ('StudentNLLObjective', dict(type='CholeskyCovariance'), 'StudentCovariance'),
        ('NLLObjective', STUDENT, 'use StudentNLLObjective'),
        ('FaithfulObjective', STUDENT, 'use StudentNLLObjective'),
    ],
)
def test_refuses_what_does_not_go_together(objective, covariance, message) -> None:
    with pytest.raises(ValueError, match=message):
        MODELS.build(dict(type=objective)).check(MODELS.build(covariance), DIM)


def test_a_prior_needs_an_anchor() -> None:
    with pytest.raises(ValueError, match='prior must not be negative'):
        StudentNLLObjective(prior=-1)
    with pytest.raises(ValueError, match='anchor'):
        StudentNLLObjective(prior=0.1).check(MODELS.build(STUDENT), DIM)


@pytest.mark.parametrize(
    'scale',
    [
        dict(type='CholeskyCovariance'),
        dict(type='FactorCovariance'),
        dict(type='RootCovariance'),
        dict(type='PrecisionCovariance'),
        dict(type='DiagonalCovariance'),
        dict(type='AnchoredCovariance'),
        dict(type='TaylorInducedCovariance', order='gradient'),
        dict(type='TaylorInducedCovariance', order='full'),
    ],
    ids=lambda scale: scale['type'] + scale.get('order', ''),
)
def test_trains_every_parameterisation_in_a_regressor(scale) -> None:
    model = HeteroscedasticRegressor(
        2,
        DIM,
        dict(type='StudentNLLObjective'),
        dict(type='StudentCovariance', scale=dict(scale, floor=1e-2)),
        dict(type='ResidualMLP', width=12, blocks=1),
    )
    x, y = torch.randn(16, 2), torch.randn(16, DIM)
    model.loss(x, y, None)['loss'].backward()
    last = list(model.covariance_network.children())[-1]
    count = model.covariance.num_outputs(DIM)
    assert last.bias.grad[:count].abs().min() > 0
    predicted = model.eval().predict(x)
    assert predicted['degrees_of_freedom'].shape == (16,)
    assert (predicted['degrees_of_freedom'] > 2).all()


def test_a_gaussian_model_is_as_it_was() -> None:
    """No degrees of freedom, no further weights, no further outputs."""
    settings = dict(network=dict(type='ResidualMLP', width=12, blocks=1), seed=3)
    gaussian = HeteroscedasticRegressor(
        2, DIM, dict(type='NLLObjective'), STUDENT['scale'], **settings
    )
    heavy = HeteroscedasticRegressor(2, DIM, dict(type='StudentNLLObjective'), STUDENT, **settings)
    assert gaussian.state_dict().keys() == heavy.state_dict().keys()
    for name, value in gaussian.named_parameters():
        assert torch.equal(value, heavy.get_parameter(name))
    assert set(gaussian.eval().predict(torch.randn(5, 2))) == {'mean', 'covariance'}


def test_a_switch_that_needs_more_outputs_is_refused() -> None:
    model = HeteroscedasticRegressor(2, DIM, dict(type='MSEObjective'))
    scale = dict(type='TaylorInducedCovariance', order='full')
    with pytest.raises(ValueError, match=f'covariance_outputs={DIM**2 + 3}'):
        model.switch(dict(type='StudentNLLObjective'), dict(type='StudentCovariance', scale=scale))


def test_finds_the_tails_of_its_data() -> None:
    """On Student-t residuals it comes to their ν and S, and beats the best Gaussian."""
    torch.manual_seed(0)
    scale = torch.tensor([[1.0, 0.6], [0.6, 2.0]])
    y = sample(torch.zeros(2), scale, 3.0, 4000)
    model = HeteroscedasticRegressor(
        1,
        2,
        dict(type='StudentNLLObjective'),
        dict(type='StudentCovariance', scale=dict(type='CholeskyCovariance', floor=1e-4)),
        dict(type='FreeVector'),
    )
    optimiser = torch.optim.LBFGS(model.parameters(), max_iter=60, line_search_fn='strong_wolfe')
    x = torch.zeros(len(y), 1)

    def closure():
        optimiser.zero_grad()
        loss = model.loss(x, y, None)['loss']
        loss.backward()
        return loss

    optimiser.step(closure)
    with torch.no_grad():
        mean, covariance = model.distribution(x[:1])
        assert covariance.degrees_of_freedom.item() == pytest.approx(3, abs=0.4)
        torch.testing.assert_close(covariance.scale.matrix[0], scale, rtol=0.1, atol=0.05)
        best = torch.cov(y.mT)
        gaussian = gaussian_nll(y - y.mean(0), best).mean()
        assert model.loss(x, y, None)['loss'] < gaussian - 0.1
        assert NLLObjective()(mean, y, Covariance(matrix=best[None])).isfinite().all()
