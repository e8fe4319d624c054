import pytest

from hetpose.benchmarks.step import LIMITS, METHODS, training_step


@pytest.mark.parametrize('method', METHODS)
def test_a_step_runs(method: str) -> None:
    step = training_step(method, 3)
    step()
    step()


def test_limits_are_about_known_methods() -> None:
    assert {name for limit in LIMITS for name in limit[:2]} <= set(METHODS)
