"""A run that was killed and resumed ends with the weights of one that was not, bit for bit."""

from pathlib import Path

import pytest
import torch
from helpers_suite import unit_config
from helpers_training import STEPS, differing, pose_config, train
from mmengine.hooks import Hook

from hetpose.engine import launch


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


@pytest.mark.slow
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
