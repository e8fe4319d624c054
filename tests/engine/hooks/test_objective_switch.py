from types import SimpleNamespace

import pytest
import torch
from mmengine.logging import MMLogger

from hetpose.engine.hooks.objective_switch import ObjectiveSwitchHook
from hetpose.models.phase import Phase, Switchable, find_switchable


class Head(Switchable):
    """Records the phases that it trains."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list = []

    def _train(self, phase: Phase) -> None:
        self.calls.append((phase.objective, phase.covariance))


class Runner:
    """The attributes of a Runner that the hook reads."""

    def __init__(self, epoch: int = 0) -> None:
        self.epoch = epoch
        self.model = torch.nn.Module()
        self.model.head = Head()
        self.optim_wrapper = SimpleNamespace(
            param_groups=[{'lr': 1.0}], optimizer=SimpleNamespace(state={'moments': 1})
        )
        self.logger = MMLogger.get_current_instance()


SWITCHES = [dict(epoch=5, covariance='c', lr=0.1), dict(epoch=2, objective='o')]


def test_each_switch_happens_once_from_its_epoch_on() -> None:
    hook, runner = ObjectiveSwitchHook(SWITCHES), Runner()
    seen = []
    for runner.epoch in range(8):
        hook.before_train_epoch(runner)
        seen.append((len(runner.model.head.calls), runner.optim_wrapper.param_groups[0]['lr']))
    assert seen == [(0, 1.0)] * 2 + [(1, 1.0)] * 3 + [(2, 0.1)] * 3
    assert runner.model.head.calls == [('o', None), ('o', 'c')]
    assert runner.model.head.phase.number == 2


def test_a_run_that_starts_past_a_switch_makes_it() -> None:
    hook, runner = ObjectiveSwitchHook(SWITCHES), Runner(epoch=7)
    hook.before_train_epoch(runner)
    assert len(runner.model.head.calls) == 2


def test_what_the_record_says_is_done_is_not_done_again() -> None:
    hook, runner = ObjectiveSwitchHook(SWITCHES), Runner(epoch=7)
    runner.model.head.phase = Phase(2, 'o', 'c')  # as a checkpoint of the second phase brings it
    hook.before_train_epoch(runner)
    assert not runner.model.head.calls
    assert runner.optim_wrapper.param_groups[0]['lr'] == 1.0
    assert runner.optim_wrapper.optimizer.state == {'moments': 1}


@pytest.mark.parametrize(
    ('wanted', 'left'), [({}, {}), ({'reset_optimizer': False}, {'moments': 1})]
)
def test_moments_of_the_old_objective_are_forgotten(wanted: dict, left: dict) -> None:
    hook, runner = ObjectiveSwitchHook([dict(epoch=2, objective='o', **wanted)]), Runner(epoch=1)
    hook.before_train_epoch(runner)
    assert runner.optim_wrapper.optimizer.state == {'moments': 1}
    runner.epoch = 2
    hook.before_train_epoch(runner)
    assert runner.optim_wrapper.optimizer.state == left


def test_a_switch_must_be_understood() -> None:
    with pytest.raises(ValueError, match='needs epoch'):
        ObjectiveSwitchHook([dict(objective='o')])
    with pytest.raises(ValueError, match='may have'):
        ObjectiveSwitchHook([dict(epoch=1, loss='o')])


def test_a_model_without_switch_is_refused() -> None:
    with pytest.raises(TypeError, match='trains in phases'):
        find_switchable(torch.nn.Linear(1, 1))
