"""Two processes train as one does."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOBAL_BATCH = 64


def evaluation(work_dir: Path) -> dict[str, float]:
    """The last validation in a run's log."""
    (log,) = work_dir.rglob('scalars.json')
    records = [json.loads(line) for line in log.read_text().splitlines()]
    return next(record for record in reversed(records) if 'nll' in record)


def train(work_dir: Path, processes: int) -> tuple[dict[str, float], str]:
    """Train a network without batch norm, whose statistics would differ between processes."""
    run = subprocess.run(
        [
            'bash',
            str(ROOT / 'tools' / 'dist_train.sh'),
            str(ROOT / 'configs' / 'multivariate' / 'w2_bound.py'),
            str(processes),
            '--work-dir',
            str(work_dir),
            '--cfg-options',
            'dataset=4',
            'epochs=2',
            'train_cfg.val_interval=1',
            'model.network.blocks=0',
            f'train_dataloader.batch_size={GLOBAL_BATCH // processes}',
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, 'PYTHON': sys.executable},
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return evaluation(work_dir), run.stdout + run.stderr


@pytest.mark.slow
def test_two_processes_end_where_one_does(tmp_path: Path) -> None:
    one, log = train(tmp_path / 'one', 1)
    two, _ = train(tmp_path / 'two', 2)
    for name in ('mse', 'tac', 'nll', 'w2'):
        assert two[name] == pytest.approx(one[name], rel=1e-4), name
    assert not re.search(
        r'[Ww]arning.*deprecated|is deprecated|will be deprecated|FutureWarning', log
    ), 'noise from the stack'
    assert 'Traceback' not in log
    assert 'did not find any unused' not in log, 'a warning of a search that finds nothing'
