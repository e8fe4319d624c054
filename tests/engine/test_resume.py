"""A run that was killed and resumed ends with the weights of one that was not, bit for bit."""

import os
import zipfile
from pathlib import Path

import pytest
import torch
from helpers_suite import unit_config, write_table
from helpers_training import STEPS, differing, pose_config, train
from mmengine.hooks import Hook

from hetpose.engine import launch
from hetpose.engine.resume import check_resume, use_resume
from hetpose.engine.suite import resolve
from hetpose.errors import UserError


class Killed(RuntimeError):
    """Stands for a kill: the process ends where it is."""


class Kill(Hook):
    """End a run after a number of steps."""

    priority = 'VERY_HIGH'

    def __init__(self, step: int) -> None:
        self.step = step

    def before_train_iter(self, runner, batch_idx: int, data_batch=None) -> None:
        if runner.iter == self.step:
            raise Killed


def killed_and_resumed(make, step: int) -> dict[str, torch.Tensor]:
    runner = launch.build_runner(make())
    runner.register_hook(Kill(step))
    with pytest.raises(Killed):
        runner.train()
    config = make()
    config.resume = True
    return train(config)


@pytest.fixture(scope='module')
def whole(tmp_path_factory) -> dict[str, torch.Tensor]:
    """The weights of a run that nothing stopped."""
    return train(pose_config(tmp_path_factory.mktemp('whole')))


def test_pose(tmp_path: Path, whole: dict) -> None:
    """Killed in the middle of the epoch after the switch; with workers where there were none."""
    resumed = killed_and_resumed(lambda: pose_config(tmp_path, workers=1), STEPS + 1)
    assert not differing(whole, resumed)


@pytest.mark.skipif('HETPOSE_SOAK' not in os.environ, reason='a long run; set HETPOSE_SOAK=1')
@pytest.mark.parametrize('workers', [0, 2])
@pytest.mark.parametrize('step', range(1, 3 * STEPS))
def test_pose_at_every_step(tmp_path: Path, whole: dict, step: int, workers: int) -> None:
    resumed = killed_and_resumed(lambda: pose_config(tmp_path, workers=workers), step)
    assert not differing(whole, resumed)


# An epoch has 3 batches of 32 of the 96 rows; anchored trains twice the epochs.
@pytest.mark.parametrize(('method', 'step'), [('hybrid', 4), ('anchored', 9), ('anchored', 13)])
def test_suite(tmp_path: Path, method: str, step: int) -> None:
    """The methods with a switch, a frozen mean, an anchor and weights that are kept."""

    def make(folder: str):
        config = unit_config(tmp_path, method, epochs=3)
        config.work_dir = str(tmp_path / folder)
        config.default_hooks.checkpoint.interval = 1
        config.train_cfg.val_interval = 1
        return config

    whole = train(make('whole'))
    resumed = killed_and_resumed(lambda: make('killed'), step)
    assert not differing(whole, resumed)


def finished(tmp_path: Path, method: str = 'nll', **options) -> Path:
    """The folder of a run with a checkpoint of each of its two epochs."""
    config = unit_config(tmp_path, method, **options)
    config.default_hooks.checkpoint.update(interval=1, max_keep_ckpts=-1)
    train(config)
    return Path(config.work_dir)


def resolved(tmp_path: Path, folder: Path, resume: str = 'auto', method: str = 'nll', **options):
    config = unit_config(tmp_path, method, **options)
    config.work_dir = str(folder)
    config.experiment_name = 'resolved'  # runs of one name and second share mmengine's visualizer
    use_resume(config, resume)
    if config.resume:
        check_resume(launch.build_runner(config).model, resolve(config), config.load_from)
    return config


def damage(path: Path) -> None:
    """Flip one bit of the largest part of the archive, which holds weights."""
    with zipfile.ZipFile(path) as archive:
        part = max(archive.infolist(), key=lambda part: part.file_size)
        stored = archive.read(part)
    content = bytearray(path.read_bytes())
    content[content.index(stored, part.header_offset) + len(stored) // 2] ^= 1
    path.write_bytes(content)


class TestChoice:
    def test_the_newest_that_is_whole(self, tmp_path: Path, capsys) -> None:
        folder = finished(tmp_path)
        assert resolved(tmp_path, folder).load_from == str(folder / 'epoch_2.pth')
        (folder / 'last_checkpoint').unlink()
        assert resolved(tmp_path, folder).load_from == str(folder / 'epoch_2.pth')
        (folder / 'last_checkpoint').write_text('\0 nonsense')
        assert resolved(tmp_path, folder).load_from == str(folder / 'epoch_2.pth')
        damage(folder / 'epoch_2.pth')
        assert resolved(tmp_path, folder).load_from == str(folder / 'epoch_1.pth')
        assert 'is damaged' in capsys.readouterr().out
        (folder / 'epoch_1.pth').write_bytes((folder / 'epoch_1.pth').read_bytes()[:1000])
        with pytest.raises(UserError, match='no checkpoint in .* is usable'):
            resolved(tmp_path, folder)

    def test_a_moved_folder(self, tmp_path: Path) -> None:
        folder = finished(tmp_path).rename(tmp_path / 'moved')
        assert resolved(tmp_path, folder).load_from == str(folder / 'epoch_2.pth')

    def test_nothing_to_continue_from(self, tmp_path: Path, capsys) -> None:
        config = resolved(tmp_path, tmp_path / 'empty')
        assert not config.resume
        assert 'starts from the beginning' in capsys.readouterr().out

    def test_weights_alone_are_no_run(self, tmp_path: Path) -> None:
        content = torch.load(finished(tmp_path) / 'epoch_2.pth', weights_only=True)
        torch.save({'state_dict': content['state_dict'], 'meta': {}}, tmp_path / 'best.pth')
        with pytest.raises(UserError, match='no state of a run'):
            resolved(tmp_path, tmp_path, str(tmp_path / 'best.pth'))


class TestRefused:
    def test_another_method_or_trial(self, tmp_path: Path) -> None:
        folder = finished(tmp_path)
        for method in ('w2_bound', 'anchored', 'nll_tic'):
            with pytest.raises(UserError, match='was trained with NLLObjective'):
                resolved(tmp_path, folder, method=method)
        with pytest.raises(UserError, match='trial=0, this one has trial=3'):
            resolved(tmp_path, folder, trial=3)

    def test_another_dimension(self, tmp_path: Path) -> None:
        """This ended in a segmentation fault."""
        folder = finished(tmp_path)
        path = folder / 'epoch_2.pth'
        content = torch.load(path, weights_only=True)
        content['meta'].pop('hetpose_run')
        torch.save(content, path)
        wide = write_table(tmp_path / 'wide.csv', columns=9)
        with pytest.raises(UserError, match='does not fit'):
            resolved(tmp_path, folder, dataset=str(wide))

    def test_a_config_in_a_checkpoint_is_not_run(self, tmp_path: Path) -> None:
        """mmengine would run the text under this name as a program."""
        folder = finished(tmp_path)
        path, trace = folder / 'epoch_1.pth', tmp_path / 'trace'
        content = torch.load(path, weights_only=True)
        content['meta']['config'] = f'open({str(trace)!r}, "w").close()'
        torch.save(content, path)
        config = unit_config(tmp_path, 'nll')
        config.work_dir, config.resume, config.load_from = str(folder), True, str(path)
        train(config)
        assert not trace.exists()


def test_the_seed_that_a_run_drew_is_kept(tmp_path: Path) -> None:
    first = pose_config(tmp_path, epochs=1)
    first.pop('randomness')
    first.custom_hooks = first.param_scheduler = []
    train(first)
    drawn = torch.load(Path(first.work_dir) / 'epoch_1.pth', weights_only=True)['meta']['seed']
    again = pose_config(tmp_path)
    again.pop('randomness')
    use_resume(again, 'auto')
    assert again.randomness.seed == drawn
