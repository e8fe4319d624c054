from types import SimpleNamespace

import pytest
import torch
from mmengine.logging import MMLogger

from hetpose.engine.hooks.objective_switch import PHASE_KEY, ObjectiveSwitchHook, find_switchable


class Head(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list = []

    def switch(self, objective=None, covariance=None) -> None:
        self.calls.append((objective, covariance))


class Runner:
    """What the hook reads of a Runner."""

    def __init__(self, epoch: int = 0) -> None:
        self.epoch = epoch
        self.model = torch.nn.Module()
        self.model.head = Head()
        self.info: dict = {}
        self.message_hub = SimpleNamespace(update_info=self.info.__setitem__)
        self.optim_wrapper = SimpleNamespace(
            param_groups=[{'lr': 1.0}], optimizer=SimpleNamespace(state={'moments': 1})
        )
        self.logger = MMLogger.get_current_instance()
        self._train_loop: object = {}
        self._resume = False


SWITCHES = [dict(epoch=5, covariance='c', lr=0.1), dict(epoch=2, objective='o')]


def test_each_switch_happens_once_from_its_epoch_on() -> None:
    hook, runner = ObjectiveSwitchHook(SWITCHES), Runner()
    seen = []
    for runner.epoch in range(8):
        hook.before_train_epoch(runner)
        seen.append((len(runner.model.head.calls), runner.optim_wrapper.param_groups[0]['lr']))
    assert seen == [(0, 1.0)] * 2 + [(1, 1.0)] * 3 + [(2, 0.1)] * 3
    assert runner.model.head.calls == [('o', None), (None, 'c')]
    assert runner.info[PHASE_KEY] == 2


def test_a_run_that_starts_past_a_switch_makes_it() -> None:
    hook, runner = ObjectiveSwitchHook(SWITCHES), Runner(epoch=7)
    hook.before_train_epoch(runner)
    assert len(runner.model.head.calls) == 2


def test_a_checkpoint_is_loaded_in_its_own_phase() -> None:
    hook, runner = ObjectiveSwitchHook(SWITCHES), Runner()
    hook.after_load_checkpoint(runner, {'meta': {'epoch': 5}})  # the last epoch was number 4
    assert runner.model.head.calls == [('o', None)]
    assert runner.optim_wrapper.param_groups[0]['lr'] == 1.0


def test_a_checkpoint_within_an_epoch_says_its_own_phase() -> None:
    hook, runner = ObjectiveSwitchHook(SWITCHES), Runner()
    hub = {'runtime_info': {PHASE_KEY: 2}}
    hook.after_load_checkpoint(runner, {'meta': {'epoch': 5}, 'message_hub': hub})
    assert runner.model.head.calls == [('o', None), (None, 'c')]


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


def test_restored_moments_are_kept() -> None:
    hook, runner = ObjectiveSwitchHook(SWITCHES), Runner(epoch=7)
    hook.after_load_checkpoint(runner, {'meta': {'epoch': 7}})
    hook.before_train_epoch(runner)
    assert runner.optim_wrapper.optimizer.state == {'moments': 1}


def test_a_switch_must_be_understood() -> None:
    with pytest.raises(ValueError, match='needs epoch'):
        ObjectiveSwitchHook([dict(objective='o')])
    with pytest.raises(ValueError, match='may have'):
        ObjectiveSwitchHook([dict(epoch=1, loss='o')])


def test_a_model_without_switch_is_refused() -> None:
    with pytest.raises(TypeError, match='no switch'):
        find_switchable(torch.nn.Linear(1, 1))
