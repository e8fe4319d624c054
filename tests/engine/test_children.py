"""A process that asked for it does not outlive its parent."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers_suite import unit_config

from hetpose.engine import launch
from hetpose.engine.seeding import start_worker

FAMILY = """
import os, sys, time
from hetpose.engine.children import die_with_parent
if os.fork() == 0:
    die_with_parent()
    print(os.getpid(), flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='Linux alone can do this')
def test_a_child_dies_with_its_parent() -> None:
    """The pipe ends when its last writer, the child, is gone; otherwise this waits 600 s."""
    parent = subprocess.Popen([sys.executable, '-c', FAMILY], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert int(parent.stdout.readline()) != parent.pid
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert parent.stdout.read() == ''


def test_workers_start_with_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('hetpose.engine.seeding.die_with_parent', lambda: None)
    before = signal.getsignal(signal.SIGTERM)
    drawn = []
    for seed, rank, worker in ((0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, 0)):
        start_worker(worker, seed=seed, rank=rank)
        drawn.append(torch.rand(()).item())
    signal.signal(signal.SIGTERM, before)
    assert drawn[0] == drawn[-1]
    assert len(set(drawn)) == 4


def test_every_loader_starts_its_workers_so(tmp_path: Path) -> None:
    config = unit_config(tmp_path, 'mse')
    mine = dict(type='worker_init_fn', seed=1)
    config.val_dataloader.worker_init_fn = mine
    runner = launch.build_runner(config)
    assert runner._train_dataloader['worker_init_fn']['type'] is start_worker
    assert runner._val_dataloader['worker_init_fn'] == mine


def test_a_worker_that_is_stopped_is_no_fault() -> None:
    """multiprocessing stops persistent workers at exit; torch takes a killed one for a failure."""
    code = (
        'import os, signal; from hetpose.engine.seeding import start_worker; '
        'start_worker(0, seed=0, rank=0); os.kill(os.getpid(), signal.SIGTERM); os.abort()'
    )
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0
