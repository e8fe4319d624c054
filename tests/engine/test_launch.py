"""What a user can get wrong is named in one line before anything starts."""

import os

import pytest
import torch
from mmengine.config import Config

from hetpose.engine import launch
from hetpose.errors import UserError


def test_work_dir_argument_then_config_then_name() -> None:
    config = Config({})
    launch.use_work_dir(config, None, 'a/b/leaf.py')
    assert config.work_dir == os.path.join('work_dirs', 'leaf')  # noqa: PTH118
    launch.use_work_dir(config, None, 'other.py')
    assert config.work_dir.endswith('leaf')
    launch.use_work_dir(config, 'mine', 'other.py')
    assert config.work_dir == 'mine'


def test_cpu_processes_meet_over_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)
    config = Config({})
    with pytest.raises(UserError, match='needs a GPU'):
        launch.use_launcher(config, 'slurm')
    for name in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK'):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match='without RANK, WORLD_SIZE'):
        launch.use_launcher(config, 'pytorch')
    opened = []
    monkeypatch.setattr(torch.distributed, 'init_process_group', opened.append)
    for name in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK'):
        monkeypatch.setenv(name, '0')
    launch.use_launcher(config, 'pytorch')
    assert opened == ['gloo']
    assert config.model_wrapper_cfg.device_ids is None


def test_mixed_precision_on_a_cpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)
    with pytest.raises(UserError, match='--amp needs a GPU'):
        launch.use_amp(Config(dict(optim_wrapper=dict())))
