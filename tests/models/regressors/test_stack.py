"""A step of a stack of regressors is the step that each would make alone."""

import copy

import pytest
import torch

from hetpose.models.regressors import HeteroscedasticRegressor
from hetpose.models.regressors.stack import RegressorStack, stackable
from hetpose.ops.validation import NotFiniteError

INPUTS, TARGETS, BATCH = 2, 3, 16
FACTOR = dict(type='FactorCovariance')
MEAN_ALONE = dict(type='MSEObjective'), None
BOUND = dict(type='W2BoundObjective'), FACTOR
LIKELIHOOD = dict(type='NLLObjective'), FACTOR
INDUCED = dict(type='NLLObjective'), dict(type='TaylorInducedCovariance')


def regressor(objective, covariance, seed: int = 0, **network) -> HeteroscedasticRegressor:
    settings = dict(type='ResidualMLP', blocks=2, **network)
    model = HeteroscedasticRegressor(INPUTS, TARGETS, objective, covariance, settings, seed)
    return model.double().train()


def optimizer_of(model):
    networks = model.mean_network, model.covariance_network
    groups = [{'params': list(network.parameters())} for network in networks]
    return torch.optim.AdamW(groups, lr=1e-2, eps=1e-3)


def batch(seed: int) -> dict:
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator).double()  # noqa: E731
    root = 0.3 * draw(BATCH, TARGETS, TARGETS)
    return {
        'x': draw(BATCH, INPUTS),
        'y': draw(BATCH, TARGETS),
        'target_root': root @ root.mT,
    }


def steps_alone(models, rounds) -> list:
    """What the plain models give, step by step; their weights move."""
    optimizers, made = [optimizer_of(model) for model in models], []
    for batches in rounds:
        outputs = []
        for model, optimizer, given in zip(models, optimizers, batches, strict=True):
            optimizer.zero_grad()
            losses = model.loss(given['x'], given['y'], given['target_root'])
            losses['loss'].backward()
            optimizer.step()
            outputs.append({name: value.detach() for name, value in losses.items()})
        made.append(outputs)
    return made


def stack_of(models) -> RegressorStack:
    return RegressorStack(models, [optimizer_of(model) for model in models])


def numbered(batches) -> dict:
    return dict(enumerate(batches))


KINDS = [MEAN_ALONE, BOUND, LIKELIHOOD, INDUCED]


@pytest.mark.parametrize('seeds', [(0, 0, 0, 0, 1, 1), (0, 1, 2, 3, 4, 5)])
def test_mixed_methods_train_as_alone(seeds) -> None:
    kinds = [*KINDS, BOUND, INDUCED]
    models = [regressor(*kind, seed=seed) for kind, seed in zip(kinds, seeds, strict=True)]
    alone = copy.deepcopy(models)
    rounds = [[batch(10 * step + seed) for seed in seeds] for step in range(4)]
    expected = steps_alone(alone, rounds)
    stack = stack_of(models)
    for step, batches in enumerate(rounds):
        if step % 2 == 0:
            stack.start_epoch(numbered(batches))
        outcomes = stack.step(numbered(batches))
        if step % 2:
            stack.finish_epoch()
        for index, outputs in enumerate(expected[step]):
            for name, value in outputs.items():
                torch.testing.assert_close(outcomes[index][name], value, rtol=1e-6, atol=1e-8)
    for model, other in zip(models, alone, strict=True):
        for name, value in other.state_dict().items():
            mine = model.state_dict()[name]
            torch.testing.assert_close(mine, value, rtol=1e-6, atol=1e-8, msg=name)


def test_a_mean_that_parts_from_its_leader_keeps_the_moments() -> None:
    models = [regressor(*MEAN_ALONE), regressor(*BOUND)]
    alone = copy.deepcopy(models[1])
    optimizer, stack = optimizer_of(alone), stack_of(models)
    for step in range(6):
        given = batch(step)
        if step == 0:
            stack.start_epoch(numbered([given, given]))
        if step == 3:  # the bound goes on with data of its own
            stack.finish_epoch()
            stack.start_epoch(numbered([batch(99), given]))
        stack.step(numbered([given, given]) if step < 3 else numbered([batch(99), given]))
        optimizer.zero_grad()
        alone.loss(given['x'], given['y'], given['target_root'])['loss'].backward()
        optimizer.step()
    for name, value in alone.state_dict().items():
        mine = models[1].state_dict()[name]
        torch.testing.assert_close(mine, value, rtol=1e-6, atol=1e-8, msg=name)


def test_one_that_fails_keeps_its_weights_and_does_not_disturb_the_others(monkeypatch) -> None:
    models = [regressor(*LIKELIHOOD, seed=seed) for seed in range(3)]
    alone = copy.deepcopy(models)
    batches = [batch(seed) for seed in range(3)]
    expected = steps_alone([alone[0], alone[2]], [[batches[0], batches[2]]])[0]
    evaluate = type(models[0].objective).evaluate
    marked = batches[1]['y']

    def failing(self, mean, target, *more):
        if any(torch.equal(row, marked) for row in target):
            raise NotFiniteError('a broken sample')
        return evaluate(self, mean, target, *more)

    monkeypatch.setattr(type(models[0].objective), 'evaluate', failing)
    stack = stack_of(models)
    stack.start_epoch(numbered(batches))
    outcomes = stack.step(numbered(batches))
    assert 'a broken sample' in str(outcomes[1])
    for name, value in models[1].named_parameters():
        assert torch.equal(value, dict(alone[1].named_parameters())[name]), name
    for index, outputs in zip((0, 2), expected, strict=True):
        torch.testing.assert_close(outcomes[index]['loss'], outputs['loss'])


def test_a_mean_goes_on_where_the_covariance_of_its_leader_fails(monkeypatch) -> None:
    faithful = dict(type='FaithfulObjective'), FACTOR
    models = [regressor(*faithful), regressor(*BOUND)]
    leader, follower = copy.deepcopy(models)
    given = batch(0)
    steps_alone([follower], [[given]])

    def failing(self, *_):
        raise NotFiniteError('a broken covariance')

    monkeypatch.setattr(type(models[0].objective), 'evaluate', failing)
    stack = stack_of(models)
    stack.start_epoch(numbered([given, given]))
    assert stack.roles.leader_of == {0: 0, 1: 0}
    outcomes = stack.step(numbered([given, given]))
    stack.finish_epoch()
    assert 'a broken covariance' in str(outcomes[0])
    for name, value in follower.named_parameters():
        mine = dict(models[1].named_parameters())[name]
        torch.testing.assert_close(mine, value, rtol=1e-6, atol=1e-8, msg=name)
    for name, value in leader.covariance_network.named_parameters():
        assert torch.equal(dict(models[0].covariance_network.named_parameters())[name], value)


def test_a_loss_that_is_not_finite_is_a_failure() -> None:
    models = [regressor(*LIKELIHOOD, seed=seed) for seed in range(2)]
    batches = [batch(0), batch(1)]
    batches[1]['y'] = torch.full_like(batches[1]['y'], 1e200)
    stack = stack_of(models)
    stack.start_epoch(numbered(batches))
    outcomes = stack.step(numbered(batches))
    assert isinstance(outcomes[1], Exception)
    assert torch.isfinite(outcomes[0]['loss'])


def test_observers_hear_of_their_own_residuals() -> None:
    models = [regressor(*MEAN_ALONE, seed=seed) for seed in range(2)]
    heard: dict[int, torch.Tensor] = {}
    for index, model in enumerate(models):
        model.objective.observers.append(lambda r, mask, i=index: heard.update({i: r}))
    batches = [batch(0), batch(1)]
    means = [m.mean_network(b['x']).detach() for m, b in zip(models, batches, strict=True)]
    stack = stack_of(models)
    stack.start_epoch(numbered(batches))
    stack.step(numbered(batches))
    for index, (mean, given) in enumerate(zip(means, batches, strict=True)):
        torch.testing.assert_close(heard[index], given['y'] - mean)


def test_networks_of_another_kind_are_not_stacked() -> None:
    assert stackable(regressor(*LIKELIHOOD))
    free = HeteroscedasticRegressor(1, 2, *LIKELIHOOD, network=dict(type='FreeVector'))
    assert not stackable(free)
    assert not stackable(torch.nn.Linear(1, 1))
