"""Mistakes of a user are named in one line before anything starts."""

import os
from pathlib import Path

import pytest
import torch
from helpers_suite import unit_config
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


def test_a_checkpoint_is_checked_in_its_own_phase(tmp_path: Path) -> None:
    """A run that switched away from an anchored covariance has no anchor left to save."""
    config = unit_config(tmp_path, 'nll')
    config.method = dict(
        objective=dict(type='NLLObjective'),
        covariance=dict(type='AnchoredCovariance'),
        phases=[dict(at=0.5, objective=dict(type='NLLObjective'),
                     covariance=dict(type='CholeskyCovariance'))],
    )  # fmt: skip
    first = launch.build_runner(config)
    first.train()
    assert 'covariance.anchor' not in first.model.state_dict()
    checkpoint = (Path(first.work_dir) / 'last_checkpoint').read_text()
    launch.check_start(launch.build_runner(config), checkpoint, whole=True)


def test_processes_without_a_runner_meet_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    met = []
    monkeypatch.setattr(launch, 'init_dist', lambda *args, **kwargs: met.append((args, kwargs)))
    launch.join_processes(Config(dict(launcher='none')))
    launch.join_processes(
        Config(dict(launcher='slurm', env_cfg=dict(dist_cfg=dict(backend='nccl'))))
    )
    assert met == [(('slurm',), {'backend': 'nccl'})]
