import pytest

from hetpose.benchmarks.step import LIMITS, METHODS, training_step


@pytest.mark.parametrize('method', METHODS)
def test_a_step_learns_its_batch(method: str) -> None:
    step = training_step(method, 3)
    losses = [float(step()) for _ in range(12)]
    assert losses[-1] < losses[0]


def test_every_step_starts_from_the_same_batch() -> None:
    assert float(training_step('nll', 3)()) == float(training_step('nll', 3)())


def test_limits_are_about_known_methods() -> None:
    assert {name for limit in LIMITS for name in limit[:2]} <= set(METHODS)
