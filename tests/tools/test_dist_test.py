"""Two processes measure what one does, also where the last batch is uneven."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers_training import pose_config
from mmpose.registry import MODELS

from hetpose import apis
from hetpose.apis.saving import write_model

ROOT = Path(__file__).resolve().parents[2]
PEOPLE = 7  # in batches of 2 for two processes: 2 + 2 and 2 + 1


@pytest.mark.slow
def test_metrics_of_two_processes_are_those_of_one(tmp_path: Path) -> None:
    config = pose_config(tmp_path)
    config.custom_hooks = []
    config.test_dataloader.batch_size = 2
    config.test_dataloader.dataset.length = PEOPLE
    config.test_evaluator = [config.test_evaluator, dict(type='CalibrationMetric')]
    config.dump(tmp_path / 'config.py')
    torch.manual_seed(0)
    model = MODELS.build(config.model)
    torch.nn.init.normal_(model.head.covariance_branch.net[-1].weight, std=0.05)
    write_model(config, model, {}, tmp_path)
    checkpoint = tmp_path / 'checkpoint.pth'
    one = apis.evaluate(tmp_path / 'config.py', checkpoint, work_dir=str(tmp_path / 'one'))
    words = ['bash', ROOT / 'tools' / 'dist_test.sh', tmp_path / 'config.py', checkpoint, '2']
    words += ['--work-dir', tmp_path / 'two', '--out', tmp_path / 'two.json']
    run = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, 'PYTHON': sys.executable},
    )
    assert run.returncode == 0, run.stderr[-2000:]
    two = json.loads((tmp_path / 'two.json').read_text())
    assert two.keys() == one.keys()
    assert two['calibration/whole/n'] == PEOPLE
    for name, value in one.items():
        assert two[name] == pytest.approx(value, rel=1e-5, abs=1e-9, nan_ok=True), name
