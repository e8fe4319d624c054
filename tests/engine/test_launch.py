"""What a user can get wrong is named in one line before anything starts."""

import os
from pathlib import Path

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


class TestCheckpoint:
    @pytest.fixture
    def model(self) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))

    def save(self, tmp_path: Path, state: dict) -> Path:
        torch.save({'state_dict': state}, tmp_path / 'c.pth')
        return tmp_path / 'c.pth'

    def test_its_own_weights_fit(self, tmp_path: Path, model: torch.nn.Module) -> None:
        launch.check_checkpoint(model, self.save(tmp_path, model.state_dict()), whole=True)

    def test_another_shape_is_named(self, tmp_path: Path, model: torch.nn.Module) -> None:
        state = {**model.state_dict(), '1.weight': torch.zeros(2, 3)}
        path = self.save(tmp_path, state)
        with pytest.raises(UserError, match=r'1\.weight is \(2, 3\) there and \(1, 3\)'):
            launch.check_checkpoint(model, path, whole=True)
        launch.check_checkpoint(model, path, whole=False)  # a new head on the old trunk

    def test_another_network_is_no_start(self, tmp_path: Path, model: torch.nn.Module) -> None:
        state = {name: torch.zeros(7) for name in model.state_dict()}
        with pytest.raises(UserError, match='4 such weights'):
            launch.check_checkpoint(model, self.save(tmp_path, state), whole=False)

    def test_a_part_is_enough_for_fine_tuning_only(
        self, tmp_path: Path, model: torch.nn.Module
    ) -> None:
        state = {k: v for k, v in model.state_dict().items() if k.startswith('0.')}
        path = self.save(tmp_path, state)
        launch.check_checkpoint(model, path, whole=False)
        with pytest.raises(UserError, match='lacks 2 of 4 weights'):
            launch.check_checkpoint(model, path, whole=True)

    def test_another_model_fits_nothing(self, tmp_path: Path, model: torch.nn.Module) -> None:
        with pytest.raises(UserError, match='lacks 4 of 4'):
            launch.check_checkpoint(model, self.save(tmp_path, {'x': torch.ones(1)}), whole=False)

    @pytest.mark.parametrize('content', [b'', b'not a checkpoint', b'PK\x03\x04half'])
    def test_a_torn_file_is_named(
        self, tmp_path: Path, model: torch.nn.Module, content: bytes
    ) -> None:
        (tmp_path / 'c.pth').write_bytes(content)
        with pytest.raises(UserError, match=r'c\.pth cannot be read'):
            launch.check_checkpoint(model, tmp_path / 'c.pth', whole=True)

    def test_a_missing_file_is_named(self, model: torch.nn.Module) -> None:
        with pytest.raises(UserError, match=r'checkpoint not found: no\.pth'):
            launch.check_checkpoint(model, 'no.pth', whole=True)


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
