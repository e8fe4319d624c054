"""A checkpoint decides about the phase of a resumed run, the config about that of a new one."""

from pathlib import Path

import pytest
import torch
from helpers_suite import unit_config
from mmengine.config import Config
from mmpose.registry import MODELS
from torch import nn

from hetpose.engine import launch
from hetpose.engine.phases import enter_phase, planned_phases, recorded_phase

FACTOR = dict(type='FactorCovariance', floor=1e-3)
ANCHORED = dict(type='AnchoredCovariance', floor=1e-3)


def config(*switches: dict, objective: str = 'W2BoundObjective', covariance=FACTOR) -> Config:
    model = dict(
        type='HeteroscedasticRegressor',
        in_dim=2,
        out_dim=3,
        objective=dict(type=objective),
        covariance=covariance,
        network=dict(type='ResidualMLP', blocks=1),
    )
    hooks = [dict(type='ObjectiveSwitchHook', switches=list(switches))] if switches else None
    return Config(dict(model=model, custom_hooks=hooks))


SWITCHES = (
    dict(epoch=8, covariance=ANCHORED),
    dict(epoch=3, objective=dict(type='NLLObjective')),
)


def test_a_plan_is_the_model_then_the_switches_in_order() -> None:
    kinds = [
        (p.number, p.objective['type'], p.covariance['type'])
        for p in planned_phases(config(*SWITCHES))
    ]
    assert kinds == [
        (0, 'W2BoundObjective', 'FactorCovariance'),
        (1, 'NLLObjective', 'FactorCovariance'),
        (2, 'NLLObjective', 'AnchoredCovariance'),
    ]


@pytest.mark.parametrize('made', [0, 1, 2])
def test_a_model_enters_the_phase_of_the_checkpoint(made: int) -> None:
    plan = config(*SWITCHES)
    source, target = MODELS.build(plan.model), MODELS.build(plan.model)
    for switch in sorted(SWITCHES, key=lambda switch: switch['epoch'])[:made]:
        source.switch(switch.get('objective'), switch.get('covariance'))
    enter_phase(target, plan, {'state_dict': source.state_dict()})
    assert target.phase == source.phase
    assert target.phase.number == made


def test_the_floor_of_the_config_holds_in_a_later_phase() -> None:
    source = MODELS.build(config().model)
    source.switch(dict(type='NLLObjective'), ANCHORED)
    plan = config(
        dict(epoch=1, objective=dict(type='NLLObjective'), covariance=dict(ANCHORED, floor=0.5))
    )
    target = MODELS.build(plan.model)
    enter_phase(target, plan, {'state_dict': source.state_dict()})
    assert target.covariance.floor == 0.5


def test_weights_without_a_record_change_nothing() -> None:
    plan = config(*SWITCHES)
    model = MODELS.build(plan.model)
    enter_phase(model, plan, {'state_dict': {'mean_network.0.weight': torch.ones(1)}})
    assert model.phase.number == 0
    enter_phase(nn.Linear(1, 1), Config({}), {'meta': {'epoch': 5}})
    assert recorded_phase(nn.Linear(1, 1), {}) is None


def trained(tmp_path: Path, method: str, **options) -> tuple[str, dict]:
    runner = launch.build_runner(unit_config(tmp_path, method, **options))
    runner.train()
    path = (Path(runner.work_dir) / 'last_checkpoint').read_text()
    return path, torch.load(path, weights_only=True)['state_dict']


def test_a_run_that_starts_from_weights_obeys_its_config(tmp_path: Path) -> None:
    path, _ = trained(tmp_path, 'anchored')
    start = unit_config(tmp_path, 'nll')
    start.load_from, start.epochs = path, 1
    runner = launch.build_runner(start)
    before = {n: v.clone() for n, v in runner.model.covariance_network.state_dict().items()}
    runner._train_loop = runner.build_train_loop(runner._train_loop)
    runner.load_or_resume()
    assert runner.model.phase.number == 0
    assert not runner.model.mean_frozen
    assert type(runner.model.covariance).__name__ == 'FactorCovariance'
    for name, value in runner.model.covariance_network.state_dict().items():
        assert torch.equal(value, before[name])  # those of the checkpoint mean something else
    stored = torch.load(path, weights_only=True)['state_dict']
    for name, value in runner.model.mean_network.state_dict().items():
        assert torch.equal(value, stored[f'mean_network.{name}'])


def test_weights_of_the_same_meaning_are_taken_with_the_own_floor(tmp_path: Path) -> None:
    path, stored = trained(tmp_path, 'nll')
    start = unit_config(tmp_path, 'nll', floor=0.25)
    start.load_from = path
    runner = launch.build_runner(start)
    runner._train_loop = runner.build_train_loop(runner._train_loop)
    runner.load_or_resume()
    assert runner.model.covariance.floor == 0.25
    for name, value in runner.model.covariance_network.state_dict().items():
        assert torch.equal(value, stored[f'covariance_network.{name}'])


def test_an_anchor_for_other_targets_is_not_adopted() -> None:
    source = MODELS.build(dict(config(covariance=ANCHORED).model, out_dim=4))
    target = MODELS.build(config(covariance=ANCHORED).model)
    source.covariance.set_anchor(4 * torch.eye(4))
    from mmengine.runner.checkpoint import load_state_dict

    load_state_dict(target, source.state_dict(), strict=False, logger=None)
    assert target.covariance.anchor.shape == (3, 3)
    target(torch.randn(8, 2), torch.randn(8, 3), torch.eye(3).expand(8, 3, 3), mode='loss')
