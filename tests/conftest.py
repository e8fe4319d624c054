"""Shared set-up: one thread a process, so that parallel test processes do not fight over cores."""

import sys
from pathlib import Path

import pytest
import torch

import hetpose.registration  # noqa: F401

sys.path.insert(0, str(Path(__file__).parent))  # for `import helpers`
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Every test starts from the same random state."""
    torch.manual_seed(0)


@pytest.fixture(scope='session', autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope='session')
def root() -> Path:
    """The top of the repository."""
    return ROOT
