"""Processes that do not outlive the one that started them."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sys

import numpy as np
import torch
from mmengine.runner import Runner

from hetpose.engine.seeding import derived_seed

_PR_SET_PDEATHSIG = 1  # of prctl(2)
_KEYS = {'worker_init_fn', 'disable_subprocess_warning'}  # of mmengine's own start of a worker


def die_with_parent() -> None:
    """Ask Linux to kill this process when the thread that started it ends; elsewhere nothing."""
    if sys.platform == 'linux':
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def start_worker(worker_id: int, seed: int, rank: int) -> None:
    """Prepare a worker process of a data loader; ``worker_init_fn`` of every loader.

    It dies with the run, ends without a word when the loader stops it, and starts with random
    numbers of its own.
    """
    die_with_parent()
    # Killed by the signal, it would be a fault to the loader: a trace at the end of every run
    # whose workers persist.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    own = derived_seed(seed, rank, worker_id)
    random.seed(own)
    np.random.seed(own)  # noqa: NPY002
    torch.manual_seed(own)


def start_workers_well(runner: Runner) -> None:
    """Let the loaders of a Runner start their workers by ``start_worker``.

    A config that has a ``worker_init_fn`` keeps it.
    """
    start = dict(type=start_worker, seed=runner.seed, rank=runner.rank)
    for name in ('train', 'val', 'test'):
        loader = getattr(runner, f'_{name}_dataloader')
        if isinstance(loader, dict) and not _KEYS & set(loader):
            setattr(runner, f'_{name}_dataloader', dict(loader, worker_init_fn=start))
