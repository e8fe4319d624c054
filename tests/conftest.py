"""Shared set-up: one thread a process, so that parallel test processes do not fight over cores."""

import itertools
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from mmengine.registry import DefaultScope, init_default_scope

import hetpose.registration  # noqa: F401

sys.path.insert(0, str(Path(__file__).parent))  # for `import helpers`
ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run, and no verdict that depends on how fast the machine is.
settings.register_profile(
    'hetpose',
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile('hetpose')


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Every test starts from the same random state and in mmpose's scope."""
    torch.manual_seed(0)
    scope = DefaultScope.get_current_instance()
    if scope is not None and scope.scope_name != 'mmpose':  # as a test of a detector leaves it
        init_default_scope('mmpose')


@pytest.fixture(scope='session', autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope='session')
def root() -> Path:
    """The top of the repository."""
    return ROOT


@pytest.fixture(autouse=True, scope='session')
def runs_have_names_of_their_own():
    """Runs of one config that start in the same second would share mmengine's message hub."""
    from mmengine.runner import Runner

    original, numbers = Runner.setup_env, itertools.count()

    def setup_env(self, env_cfg):
        original(self, env_cfg)
        self._timestamp += f'_{next(numbers)}'

    Runner.setup_env = setup_env
    yield
    Runner.setup_env = original
