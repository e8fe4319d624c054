"""Two processes share the pass of a frozen model, and fit what one does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers_posthoc import write_foreign

from hetpose import cli
from hetpose.engine.checkpoint import read_checkpoint

TESTS = Path(__file__).resolve().parents[1]


def before_norm(name: str, weights: dict[str, torch.Tensor]) -> bool:
    """Whether it is a bias that a batch norm takes away again.

    Its gradient is 0 but for rounding, which differs with where an array lies in memory, and Adam
    makes a step of any rounding.
    """
    return name.endswith('.2.bias') and name.replace('.2.bias', '.3.running_mean') in weights


@pytest.mark.slow
def test_two_processes_fit_what_one_fits(tmp_path: Path) -> None:
    torch.set_num_threads(1)  # as each of the two
    config, checkpoint = write_foreign(tmp_path, 'heatmap', 600)  # three files of the cache
    with config.open('a') as file:
        file.write("\ncustom_imports = dict(imports=['helpers_posthoc'])\n")
    words = ['fit-covariance', config, checkpoint, '--epochs', 1, '--device', 'cpu', '--out']
    assert not cli.dispatch([str(word) for word in [*words, tmp_path / 'one']])
    launch = [sys.executable, '-m', 'torch.distributed.run', '--standalone']
    launch += ['--nproc_per_node', '2', '-m', 'hetpose', *words, tmp_path / 'two']
    paths = [str(TESTS), str(TESTS.parent), os.environ.get('PYTHONPATH', '')]
    run = subprocess.run(
        [*(str(word) for word in launch), '--launcher', 'pytorch'],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(paths), 'OMP_NUM_THREADS': '1'},
    )
    assert run.returncode == 0, run.stderr[-2000:]
    caches = [
        {path.name: path for path in (tmp_path / name / 'cache').rglob('*.npz')}
        for name in ('one', 'two')
    ]
    assert caches[0].keys() == caches[1].keys()
    assert len(caches[0]) == 3
    for name in caches[0]:
        with np.load(caches[0][name]) as mine, np.load(caches[1][name]) as theirs:
            for column in mine.files:
                np.testing.assert_array_equal(mine[column], theirs[column], err_msg=column)
    one, two = (
        read_checkpoint(tmp_path / name / 'checkpoint.pth')['state_dict']
        for name in ('one', 'two')
    )
    assert one.keys() == two.keys()
    for name, value in one.items():
        if before_norm(name, one):
            continue
        bias = name.replace('.3.running_mean', '.2.bias')  # the mean moves with it
        moved = (one[bias] - two[bias]).abs().max().item() if before_norm(bias, one) else 0.0
        torch.testing.assert_close(two[name], value, rtol=1e-4, atol=1e-5 + moved, msg=name)
    calibrations = [
        json.loads((tmp_path / name / 'calibration' / 'calibration.json').read_text())
        for name in ('one', 'two')
    ]
    assert calibrations[0]['count'] == calibrations[1]['count'] > 0
