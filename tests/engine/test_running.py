"""A run ends with a sentence, and is alone in its folder."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers_suite import unit_config
from helpers_training import pose_config
from kill_harness import orphans
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


class InDestructor(Hook):
    """Send a signal to the own process while something is destroyed."""

    class Doomed:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):  # the handler runs between two of these
                pass

    def before_train_epoch(self, runner) -> None:
        if runner.epoch == 1:
            self.Doomed()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also where the tests run in a shell's background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures('interruptible')
def test_a_signal_that_a_destructor_swallows_ends_the_run(
    tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.setattr(sys, 'unraisablehook', sys.__unraisablehook__)  # not pytest's own
    before = signal.getsignal(signal.SIGINT)
    runner = launch.build_runner(unit_config(tmp_path, 'mse'))
    runner.register_hook(InDestructor())
    with pytest.raises(KeyboardInterrupt):
        running.train(runner)
    told = capsys.readouterr().err
    assert 'stopped in epoch 2' in told
    assert 'Traceback' not in told
    assert signal.getsignal(signal.SIGINT) is before


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


def newest(folder: Path) -> int:
    """The epoch of the newest checkpoint, 0 without one."""
    return max([int(path.stem[6:]) for path in folder.glob('epoch_*.pth')], default=0)


def run_until(epoch: int, number: int, config: Path, *options: str) -> tuple[int, str]:
    """Train in a process of its own; send a signal when the checkpoint of an epoch is there.

    Returns the exit code and what was told. Nothing that the process started is left.
    """
    log = config.with_suffix('.log')
    with log.open('w') as file:
        process = subprocess.Popen(
            [sys.executable, '-m', 'hetpose', 'train', str(config), *options],
            stdout=file,
            stderr=file,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env={**os.environ, 'OMP_NUM_THREADS': '1'},
        )
        try:
            while newest(config.parent / 'run') < epoch and process.poll() is None:
                time.sleep(0.01)
            os.kill(process.pid, number)
            code = process.wait(timeout=120)
            assert orphans(process.pid) == []
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return code, log.read_text()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != 'linux', reason='processes are listed by /proc')
def test_signals_end_a_run_with_workers_and_resume_goes_on(tmp_path: Path) -> None:
    config = pose_config(tmp_path, workers=2, epochs=100_000)
    config.default_hooks.checkpoint.max_keep_ckpts = 1
    config.dump(tmp_path / 'endless.py')
    epoch, options = 1, []
    for number, expected in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        code, told = run_until(epoch, number, tmp_path / 'endless.py', *options)
        assert code == expected, told
        last = newest(tmp_path / 'run')
        assert told.count('training stopped in epoch') == 1
        assert f'--resume continues from {tmp_path / "run" / f"epoch_{last}.pth"}' in told
        epoch, options = last + 2, ['--resume']
