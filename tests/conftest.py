"""Shared set-up: one thread a process, so that parallel test processes do not fight over cores.

``OMP_NUM_THREADS=2 make test`` runs every test with two.
"""

import itertools
import os
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from mmengine.registry import DefaultScope, init_default_scope

import hetpose.registration  # noqa: F401

sys.path.insert(0, str(Path(__file__).parent))  # for `import helpers`
ROOT = Path(__file__).resolve().parent.parent
THREADS = int(os.environ.get('OMP_NUM_THREADS', '1'))

torch.set_num_threads(THREADS)  # also for fixtures that many tests share

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
    """Every test starts from the same random state, with as many threads, in mmpose's scope."""
    torch.manual_seed(0)
    torch.set_num_threads(THREADS)
    scope = DefaultScope.get_current_instance()
    if scope is not None and scope.scope_name != 'mmpose':  # as a test of a detector leaves it
        init_default_scope('mmpose')


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
