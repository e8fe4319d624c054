"""A run that breaks down numerically ends as a numerical failure, whatever breaks first."""

from pathlib import Path

import pytest
from helpers_suite import unit_config

from hetpose.engine import launch
from hetpose.engine.hooks.finite_guard import NUMERICAL


@pytest.mark.parametrize('method', ['nll', 'kl', 'nll_tic'])
def test_steps_that_are_far_too_large(tmp_path: Path, method: str) -> None:
    """Σ overflows while the networks are still finite; a suite stores this as diverged."""
    config = unit_config(tmp_path, method, epochs=6)
    config.optim_wrapper.optimizer.lr = 1e6
    with pytest.raises(NUMERICAL) as caught:
        launch.build_runner(config).train()
    assert 'last good checkpoint' in str(caught.value)
