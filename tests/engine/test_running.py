"""A run ends with a sentence, and is alone in its folder."""

from pathlib import Path

import pytest
from helpers_suite import unit_config
from mmengine.hooks import Hook

from hetpose.engine import launch, running
from hetpose.errors import UserError
from hetpose.models.regressors import DivergedError


class Raise(Hook):
    """Raise at the start of the second epoch."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def before_train_epoch(self, runner) -> None:
        if runner.epoch == 1:
            raise self.error


def interrupted(tmp_path: Path, error: BaseException, interval: int = 1):
    config = unit_config(tmp_path, 'mse')
    config.default_hooks.checkpoint.interval = interval
    runner = launch.build_runner(config)
    runner.register_hook(Raise(error))
    return runner


@pytest.mark.parametrize('signal', [KeyboardInterrupt(), SystemExit(143)])
def test_a_signal_is_answered_by_how_to_go_on(tmp_path: Path, signal, capsys) -> None:
    runner = interrupted(tmp_path, signal)
    with pytest.raises(type(signal)):
        running.train(runner)
    told = capsys.readouterr().err
    assert 'stopped in epoch 2' in told
    assert '--resume continues from' in told
    assert 'epoch_1.pth' in told


def test_before_the_first_checkpoint_it_says_so(tmp_path: Path, capsys) -> None:
    with pytest.raises(KeyboardInterrupt):
        running.train(interrupted(tmp_path, KeyboardInterrupt(), interval=9))
    assert 'starts from the beginning' in capsys.readouterr().err


def test_a_numerical_failure_is_one_line(tmp_path: Path) -> None:
    error = DivergedError('NLLObjective', 7, 'the loss is nan')
    with pytest.raises(UserError, match='diverged at step 7: the loss is nan'):
        running.train(interrupted(tmp_path, error))


def test_a_folder_has_one_run(tmp_path: Path) -> None:
    with (
        running.own_folder(tmp_path),
        pytest.raises(UserError, match='in use'),
        running.own_folder(tmp_path),
    ):
        pass
