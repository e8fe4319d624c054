"""Whatever moment a run is killed at, the pointer names a checkpoint that loads."""

import os
from pathlib import Path

import pytest
import torch
from helpers_suite import unit_config
from mmengine.fileio import LocalBackend

from hetpose.engine import launch
from hetpose.engine.checkpoint import read_checkpoint
from hetpose.engine.hooks.checkpoint import SafeCheckpointHook
from hetpose.errors import UserError


def best_config(folder: Path, epochs: int = 4):
    config = unit_config(folder, 'nll', epochs=epochs)
    config.default_hooks.checkpoint.update(interval=1, save_best='mse', rule='less')
    config.train_cfg.val_interval = 1
    return config


@pytest.fixture
def moments(monkeypatch: pytest.MonkeyPatch) -> list:
    """Calls made whenever a file is about to be replaced or removed, and right after it."""
    calls: list = []

    def watched(original):
        def call(*args, **kwargs):
            for observe in calls:
                observe()
            result = original(*args, **kwargs)
            for observe in calls:
                observe()
            return result

        return call

    monkeypatch.setattr(os, 'replace', watched(os.replace))
    monkeypatch.setattr(os, 'unlink', watched(os.unlink))
    monkeypatch.setattr(Path, 'replace', watched(Path.replace))
    monkeypatch.setattr(Path, 'unlink', watched(Path.unlink))
    monkeypatch.setattr(LocalBackend, 'remove', watched(LocalBackend.remove))
    return calls


def test_the_pointer_always_names_a_whole_checkpoint(tmp_path: Path, moments: list) -> None:
    runner = launch.build_runner(best_config(tmp_path))
    folder, seen = Path(runner.work_dir), []

    def observe() -> None:
        pointer = folder / 'last_checkpoint'
        if pointer.exists():
            seen.append(read_checkpoint(pointer.read_text())['meta']['epoch'])
            assert len(list(folder.glob('best_*.pth'))) <= 2

    moments.append(observe)
    runner.train()
    assert set(seen) == {1, 2, 3, 4}
    assert [path.name for path in folder.glob('epoch_*.pth')] == ['epoch_4.pth']
    assert len(list(folder.glob('best_*.pth'))) == 1


def test_the_old_best_lives_until_the_new_one_is_there(tmp_path: Path, moments: list) -> None:
    runner = launch.build_runner(best_config(tmp_path))
    folder, counts = Path(runner.work_dir), []
    moments.append(lambda: counts.append(len(list(folder.glob('best_*.pth')))))
    runner.train()
    first = counts.index(1)
    assert min(counts[first:]) == 1


def test_a_run_in_another_folder_deletes_nothing_of_the_first(tmp_path: Path) -> None:
    first = launch.build_runner(best_config(tmp_path, epochs=2))
    first.train()
    files = sorted(Path(first.work_dir).glob('*.pth'))
    config = best_config(tmp_path)
    config.resume, config.load_from = True, str(Path(first.work_dir) / 'epoch_2.pth')
    second = launch.build_runner(config)
    second.train()
    assert second.work_dir != first.work_dir
    assert sorted(Path(first.work_dir).glob('*.pth')) == files
    assert [path.name for path in Path(second.work_dir).glob('epoch_*')] == ['epoch_4.pth']


def test_a_renamed_folder_goes_on_with_its_own_files(tmp_path: Path) -> None:
    first = launch.build_runner(best_config(tmp_path, epochs=2))
    first.train()
    moved = tmp_path / 'renamed'
    Path(first.work_dir).rename(moved)
    config = best_config(tmp_path)
    config.work_dir = str(moved)
    config.resume, config.load_from = True, str(moved / 'epoch_2.pth')
    launch.build_runner(config).train()
    assert len(list(moved.glob('best_*.pth'))) == 1
    assert [path.name for path in moved.glob('epoch_*')] == ['epoch_4.pth']


def test_what_a_kill_left_half_written_is_removed(tmp_path: Path) -> None:
    config = unit_config(tmp_path, 'mse', epochs=1)
    folder = Path(config.work_dir)
    folder.mkdir()
    (folder / '.epoch_1-0123abcd.tmp.pth').write_bytes(b'half')
    (folder / '.mine').write_text('kept')
    launch.build_runner(config).train()
    assert not list(folder.glob('*.tmp*'))
    assert (folder / '.mine').exists()


def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    runner = launch.build_runner(unit_config(tmp_path, 'mse', epochs=1))
    runner.train()
    saved = sorted(Path(runner.work_dir).glob('*.pth'))
    torch.nn.init.constant_(next(runner.model.parameters()), float('nan'))
    with pytest.raises(FloatingPointError, match='mean_network'):
        runner.save_checkpoint(runner.work_dir, 'epoch_9.pth')
    assert sorted(Path(runner.work_dir).glob('*.pth')) == saved


def test_a_schedule_that_would_be_lost_is_refused(tmp_path: Path) -> None:
    config = unit_config(tmp_path, 'mse')
    config.param_scheduler = [dict(type='LinearLR', start_factor=0.1, end=2)]
    with pytest.raises(UserError, match='save_param_scheduler'):
        launch.build_runner(config).train()


def test_configs_of_mmpose_get_it_by_the_usual_name(tmp_path: Path) -> None:
    runner = launch.build_runner(unit_config(tmp_path, 'mse'))
    assert any(isinstance(hook, SafeCheckpointHook) for hook in runner.hooks)
