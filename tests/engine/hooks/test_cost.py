"""The cost of a step: the first steps and a slow one do not move it, the dearest phase counts."""

from types import SimpleNamespace

import pytest
from torch import nn

from hetpose.engine.hooks import cost
from hetpose.engine.hooks.cost import COST_KEY, WARM_UP_STEPS, CostHook
from hetpose.models.phase import Switchable

MB = 1 << 20


class Machine:
    """A clock and a memory that hold what they are told, and a Runner that keeps what is said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, model: nn.Module) -> None:
        self.now, self.held, self.highest = 0.0, 3 * MB, 3 * MB
        self.stored: dict[str, dict[str, float]] = {}
        hub = SimpleNamespace(update_info=self.stored.__setitem__)
        self.runner = SimpleNamespace(model=model, message_hub=hub)
        monkeypatch.setattr(cost.time, 'perf_counter', lambda: self.now)
        monkeypatch.setattr(cost, '_reset_peak', self.reset)
        monkeypatch.setattr(cost, '_peak', lambda: self.highest)
        self.hook = CostHook()
        self.hook.before_train(self.runner)

    def reset(self) -> int:
        self.highest = self.held
        return self.held

    def hold(self, megabytes: int) -> None:
        self.highest = max(self.highest, self.held + megabytes * MB)

    def epoch(self, seconds: list[float], megabytes: int) -> None:
        self.hook.before_train_epoch(self.runner)
        self.hold(megabytes)
        for step, length in enumerate(seconds):
            self.hook.before_train_iter(self.runner, step)
            self.now += length
            self.hook.after_train_iter(self.runner, step)

    @property
    def cost(self) -> dict[str, float]:
        self.hook.after_train(self.runner)
        return self.stored[COST_KEY]


class TwoPhases(Switchable):
    def _train(self, phase) -> None:
        pass


@pytest.mark.parametrize(
    ('seconds', 'median'),
    [([9.0] * WARM_UP_STEPS + [0.002, 0.004, 5.0], 4.0), ([0.003], 3.0)],
)
def test_time_and_memory(monkeypatch, seconds, median) -> None:
    machine = Machine(monkeypatch, nn.Identity())
    machine.epoch(seconds, megabytes=7)
    assert machine.cost == pytest.approx({'milliseconds_per_step': median, 'peak_memory_mb': 7.0})


def test_nothing_trained_has_no_cost(monkeypatch) -> None:
    assert Machine(monkeypatch, nn.Identity()).cost == {}


def test_a_validation_is_no_step(monkeypatch) -> None:
    machine = Machine(monkeypatch, nn.Identity())
    machine.epoch([1.0] * WARM_UP_STEPS, megabytes=4)
    machine.hold(900)
    machine.epoch([1.0] * WARM_UP_STEPS, megabytes=4)
    assert machine.cost['peak_memory_mb'] == 4.0


@pytest.mark.parametrize('steps', [1, WARM_UP_STEPS, 3 * WARM_UP_STEPS])
@pytest.mark.parametrize('dear_first', [True, False])
def test_the_dearest_phase_counts(monkeypatch, steps, dear_first) -> None:
    model = TwoPhases()
    machine = Machine(monkeypatch, model)
    dear, cheap = ([0.02] * steps, 30), ([0.001] * steps, 2)
    first, second = (dear, cheap) if dear_first else (cheap, dear)
    machine.epoch(*first)
    machine.held += 50 * MB  # what an epoch leaves is no step's
    machine.hold(200)
    model.switch(objective={'type': 'NLLObjective'})
    machine.epoch(*second)
    assert machine.cost == pytest.approx({'milliseconds_per_step': 20.0, 'peak_memory_mb': 30.0})
