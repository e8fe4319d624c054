import pytest
import torch
from helpers import random_covariance
from mmpose.registry import MODELS

from hetpose.models.regressors import DivergedError
from hetpose.ops.taylor.terms import taylor_terms

IN, OUT, BATCH = 2, 3, 8
PAIRS = [
    ('MSEObjective', None),
    ('MSEObjective', 'ConstantCovariance'),
    ('NLLObjective', 'FactorCovariance'),
    ('NLLObjective', 'TaylorInducedCovariance'),
    ('NLLObjective', 'AnchoredCovariance'),
    ('NLLObjective', 'PrecisionCovariance'),
    ('BetaNLLObjective', 'DiagonalCovariance'),
    ('FaithfulObjective', 'CholeskyCovariance'),
    ('W2Objective', 'TaylorInducedCovariance'),
    ('W2BoundObjective', 'RootCovariance'),
    ('KLObjective', 'FactorCovariance'),
]


def regressor(objective: str = 'NLLObjective', covariance: str | None = 'FactorCovariance', **kw):
    config = dict(type='HeteroscedasticRegressor', in_dim=IN, out_dim=OUT)
    config.update(objective=dict(type=objective), **kw)
    config['covariance'] = None if covariance is None else dict(type=covariance)
    return MODELS.build(config)


def batch():
    half = torch.randn(BATCH, OUT, OUT)
    return dict(x=torch.randn(BATCH, IN), y=torch.randn(BATCH, OUT), target_root=half @ half.mT)


@pytest.mark.parametrize(('objective', 'covariance'), PAIRS)
def test_any_sensible_pair_trains_the_networks_it_should(objective, covariance) -> None:
    model = regressor(objective, covariance)
    model(**batch(), mode='loss')['loss'].backward()
    assert all(p.grad is not None for p in model.mean_network.parameters())
    trained = [p.grad is not None for p in model.covariance_network.parameters()]
    assert all(trained) if model.objective.trains_covariance else not any(trained)


@pytest.mark.parametrize(('objective', 'covariance'), PAIRS)
def test_initial_weights_depend_on_the_seed_alone(objective, covariance) -> None:
    torch.manual_seed(len(objective))  # the global state must not matter
    ours, other = regressor(objective, covariance, seed=3), regressor(seed=3)
    pairs = zip(ours.named_parameters(), other.named_parameters(), strict=True)
    last = f'covariance_network.{len(ours.covariance_network) - 1}.'
    at_zero = ours.covariance is not None and ours.covariance.starts_at_zero
    for (name, mine), (_, theirs) in pairs:
        expected = torch.zeros_like(theirs) if at_zero and name.startswith(last) else theirs
        assert torch.equal(mine, expected), name
    first = next(regressor(seed=4).mean_network.parameters())
    assert not torch.equal(first, next(ours.mean_network.parameters()))


def test_the_networks_share_nothing() -> None:
    model = regressor()
    mean = {id(p) for p in model.mean_network.parameters()}
    assert mean.isdisjoint(id(p) for p in model.covariance_network.parameters())
    assert list(model.covariance_network.children())[-1].out_features == OUT * OUT + 2


def test_an_anchored_covariance_starts_at_its_anchor() -> None:
    model = regressor(covariance='AnchoredCovariance')
    anchor = random_covariance(dim=OUT).float()
    model.covariance.set_anchor(anchor)
    _, covariance = model.distribution(torch.randn(BATCH, IN))
    torch.testing.assert_close(covariance.matrix, anchor.expand(BATCH, OUT, OUT))


def test_an_anchored_covariance_starts_at_its_anchor_after_another_one_was_trained() -> None:
    model = regressor('NLLObjective', 'FactorCovariance')
    model.switch(dict(type='NLLObjective'), dict(type='AnchoredCovariance', floor=1e-3))
    anchor = random_covariance(dim=OUT).float()
    model.covariance.set_anchor(anchor)
    _, covariance = model.distribution(torch.randn(BATCH, IN))
    torch.testing.assert_close(covariance.matrix, anchor.expand(BATCH, OUT, OUT))


def test_taylor_terms_are_those_of_the_network_in_eval_mode() -> None:
    model = regressor(covariance='TaylorInducedCovariance').train()
    x = torch.randn(BATCH, IN)
    for _ in range(3):
        model.mean_network(x)  # moves the running statistics away from their start
    expected = taylor_terms(model.mean_network.eval(), x, 'full')
    model.train()
    statistics = [b.clone() for b in model.mean_network.buffers()]
    raw = model.covariance_network.eval()(x)
    frozen = model.covariance(raw, OUT, expected).matrix
    model.freeze_mean()  # so that only the Taylor terms could have used batch statistics
    model.covariance_network.eval()
    torch.testing.assert_close(model.distribution(x)[1].matrix, frozen)
    for before, after in zip(statistics, model.mean_network.buffers(), strict=True):
        assert torch.equal(before, after)


def test_switching_changes_the_parts_and_keeps_the_weights() -> None:
    model = regressor('W2BoundObjective')
    before = model.covariance_network.state_dict()
    model.switch(dict(type='NLLObjective'), dict(type='TaylorInducedCovariance'))
    assert type(model.objective).__name__ == 'NLLObjective'
    assert type(model.covariance).__name__ == 'TaylorInducedCovariance'
    for name, value in model.covariance_network.state_dict().items():
        assert torch.equal(value, before[name])
    covariance = model.covariance
    model.switch(dict(type='FaithfulObjective'))
    assert model.covariance is covariance  # with its buffers


def test_a_frozen_mean_stays() -> None:
    model = regressor('FaithfulObjective')
    model.freeze_mean()
    model.train()
    before = {k: v.clone() for k, v in model.mean_network.state_dict().items()}
    model(**batch(), mode='loss')['loss'].backward()
    assert all(p.grad is None for p in model.mean_network.parameters())
    assert all(torch.equal(v, before[k]) for k, v in model.mean_network.state_dict().items())


def test_divergence_has_a_name() -> None:
    model = regressor()
    torch.nn.init.constant_(next(model.mean_network.parameters()), float('nan'))
    with pytest.raises(DivergedError, match='NLLObjective') as caught:
        model(**batch(), mode='loss')
    assert caught.value.step >= 0
    assert 'FactorCovariance' in caught.value.method


@pytest.mark.parametrize('network', ['mean_network', 'covariance_network'])
def test_a_prediction_that_is_not_finite_is_named(network: str) -> None:
    model = regressor().eval()
    last = list(getattr(model, network).children())[-1]
    torch.nn.init.constant_(last.bias, float('inf'))
    with pytest.raises(DivergedError, match='holds NaN or infinite values'):
        model(torch.randn(BATCH, IN), mode='predict')


def test_bad_data_is_not_called_divergence() -> None:
    data = batch()
    data['y'][0, 0] = float('nan')
    with pytest.raises(ValueError, match='NaN'):
        regressor()(**data, mode='loss')


def test_natural_parameters_are_univariate_and_cannot_be_switched_to() -> None:
    with pytest.raises(ValueError, match='dimension 1 only'):
        regressor(covariance='NaturalCovariance')
    config = dict(type='HeteroscedasticRegressor', in_dim=1, out_dim=1)
    model = MODELS.build(dict(config, objective=dict(type='MSEObjective')))
    with pytest.raises(ValueError, match='another meaning'):
        model.switch(dict(type='NLLObjective'), dict(type='NaturalCovariance'))
