"""The cost of a step is a median that neither the first steps nor a slow one move."""

from types import SimpleNamespace

import pytest

from hetpose.engine.hooks import cost
from hetpose.engine.hooks.cost import COST_KEY, WARM_UP_STEPS, CostHook


@pytest.mark.parametrize(
    ('seconds', 'median'),
    [([9.0] * WARM_UP_STEPS + [0.002, 0.004, 5.0], 4.0), ([0.003], 3.0), ([], 0.0)],
)
def test_time_and_memory(monkeypatch, seconds, median) -> None:
    clock = iter([0.0] + [edge for length in seconds for edge in (0.0, length)][1:])
    monkeypatch.setattr(cost.time, 'perf_counter', lambda: next(clock))
    monkeypatch.setattr(cost, '_reset_peak', lambda: 3 << 20)
    monkeypatch.setattr(cost, '_peak', lambda: 10 << 20)
    stored = {}
    runner = SimpleNamespace(message_hub=SimpleNamespace(update_info=stored.__setitem__))
    hook = CostHook()
    hook.before_train(runner)
    for step in range(len(seconds)):
        hook.before_train_iter(runner, step)
        hook.after_train_iter(runner, step)
    hook.after_train(runner)
    assert stored[COST_KEY] == pytest.approx(
        {'milliseconds_per_step': median, 'peak_memory_mb': 7.0}
    )


def test_a_validation_is_no_step(monkeypatch) -> None:
    held = [1 << 20]
    monkeypatch.setattr(cost, '_reset_peak', lambda: held[-1])
    monkeypatch.setattr(cost, '_peak', lambda: max(held))
    stored = {}
    runner = SimpleNamespace(message_hub=SimpleNamespace(update_info=stored.__setitem__))
    hook = CostHook()
    hook.before_train(runner)
    for most in (5 << 20, 900 << 20):  # the steps of an epoch, then what follows them
        held.append(most)
        for step in range(WARM_UP_STEPS):
            hook.before_train_iter(runner, step)
            hook.after_train_iter(runner, step)
    hook.after_train(runner)
    assert stored[COST_KEY]['peak_memory_mb'] == 4.0
