"""The record of the phase travels with the weights."""

import pytest
import torch
from helpers_pose import DIM, estimator
from mmpose.registry import MODELS
from torch import nn

from hetpose.models import phase as phase_module
from hetpose.models.phase import Phase, same_meaning

FACTOR = dict(type='FactorCovariance', floor=1e-6)
TAYLOR = dict(type='TaylorInducedCovariance', floor=1e-6)
ANCHORED = dict(type='AnchoredCovariance', floor=1e-3)


def regressor(objective='NLLObjective', covariance=FACTOR) -> nn.Module:
    return MODELS.build(
        dict(
            type='HeteroscedasticRegressor',
            in_dim=2,
            out_dim=3,
            objective=dict(type=objective),
            covariance=covariance,
            network=dict(type='ResidualMLP', blocks=1),
        )
    )


def head(objective='NLLObjective', covariance=FACTOR) -> nn.Module:
    return estimator(objective=dict(type=objective), covariance=covariance).head


@pytest.fixture(params=[regressor, head])
def build(request):
    return request.param


def test_a_record_reads_back_equal() -> None:
    phase = Phase(2, dict(type='NLLObjective'), dict(FACTOR), mean_frozen=True)
    assert Phase.from_tensor(phase.to_tensor()) == phase


def test_weights_bring_their_phase(build) -> None:
    source, target = build('W2BoundObjective'), build('W2BoundObjective')
    source.switch(dict(type='NLLObjective'), ANCHORED)
    target.load_state_dict(source.state_dict())
    assert target.phase == source.phase == Phase(1, dict(type='NLLObjective'), ANCHORED)
    assert type(target.objective).__name__ == 'NLLObjective'
    assert type(target.covariance).__name__ == 'AnchoredCovariance'


def test_the_first_phase_comes_back_as_well(build) -> None:
    model = build('W2BoundObjective')
    first = {name: value.clone() for name, value in model.state_dict().items()}
    model.switch(dict(type='NLLObjective'), ANCHORED)
    model.load_state_dict(first)
    assert model.phase.number == 0
    assert type(model.covariance).__name__ == 'FactorCovariance'


def test_settings_that_do_not_change_the_meaning_are_the_own(build, monkeypatch) -> None:
    said = []
    monkeypatch.setattr(phase_module, 'print_log', lambda text, **_: said.append(text))
    source, target = build(), build(covariance=dict(FACTOR, floor=0.5))
    target.load_state_dict(source.state_dict())
    assert target.covariance.floor == target.phase.covariance['floor'] == 0.5
    assert not said


def test_another_order_is_another_parameterisation(build, monkeypatch) -> None:
    said = []
    monkeypatch.setattr(phase_module, 'print_log', lambda text, **_: said.append(text))
    source = build(covariance=dict(TAYLOR, order='gradient'))
    target = build(covariance=dict(TAYLOR, order='full'))
    for _ in range(2):
        target.load_state_dict(source.state_dict())
        assert target.covariance.taylor_order == 'gradient'
    assert len(said) == 1
    assert 'gradient' in said[0]


def test_a_refused_switch_changes_nothing(build) -> None:
    model = build()
    before = model.phase
    with pytest.raises(ValueError, match='never trains|needs'):
        model.switch(dict(type='MSEObjective'), dict(type='FactorCovariance'))
    assert model.phase == before
    assert type(model.objective).__name__ == 'NLLObjective'


def test_another_floor_keeps_the_anchor(build) -> None:
    model = build(covariance=ANCHORED)
    dim = DIM if build is head else 3
    model.covariance.set_anchor(4 * torch.eye(dim))
    anchor = model.covariance.anchor.clone()
    model.switch(covariance=dict(ANCHORED, floor=0.1))
    assert model.covariance.floor == 0.1
    torch.testing.assert_close(model.covariance.anchor, anchor)


def test_a_frozen_mean_is_part_of_the_phase() -> None:
    source, target = regressor(), regressor()
    source.freeze_mean()
    target.train().load_state_dict(source.state_dict())
    assert target.mean_frozen
    assert not any(p.requires_grad for p in target.mean_network.parameters())
    assert not target.mean_network.training
    assert target.covariance_network.training


def test_the_record_of_an_earlier_version_names_the_covariance() -> None:
    import json

    old = torch.tensor(list(json.dumps(ANCHORED).encode()), dtype=torch.uint8)
    model = head('W2BoundObjective')
    model.set_extra_state(old)
    assert model.phase == Phase(0, dict(type='W2BoundObjective'), ANCHORED)


def test_classes_and_names_mean_the_same() -> None:
    from hetpose.models.covariance import FactorCovariance

    assert same_meaning(dict(type=FactorCovariance), FACTOR)
    assert not same_meaning(FACTOR, ANCHORED)
    assert not same_meaning(None, FACTOR)
    assert same_meaning(None, None)
