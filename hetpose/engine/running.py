"""Run a training that others can trust: alone in its folder, and ended with a sentence."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmengine.runner import Runner

from hetpose.engine.hooks.finite_guard import NUMERICAL
from hetpose.engine.lock import locked
from hetpose.engine.resume import checkpoints_of
from hetpose.engine.training_setup import check_training
from hetpose.errors import UserError


@contextmanager
def own_folder(work_dir: str | Path) -> Iterator[None]:
    """Hold a work directory for the processes of one run: the first of them holds it."""
    with locked(work_dir) if is_main_process() else nullcontext():
        yield


def train(runner: Runner) -> None:
    """Train; a numerical failure becomes a UserError, a signal is answered by a sentence.

    Settings that would silently train something else are refused first.
    """
    loop = runner.build_train_loop(runner._train_loop)
    runner._train_loop = loop
    check_training(runner, len(loop.dataloader))
    try:
        with _hear_signals(runner):
            runner.train()
    except NUMERICAL as error:
        raise UserError(f'{error}') from error
    except (KeyboardInterrupt, SystemExit):
        if is_main_process():
            print(_farewell(runner), file=sys.stderr, flush=True)
        raise


class _SignalHook(Hook):
    """Answer a signal again at the next batch, if the run still goes on.

    Python swallows an exception that a signal raises within a destructor, such as the one that
    ends the workers of a loader.
    """

    def __init__(self) -> None:
        numbers = (signal.SIGINT, signal.SIGTERM)
        self.answers: dict[int, Any] = {number: signal.getsignal(number) for number in numbers}
        self.heard: int | None = None

    def hear(self, number: int, frame: Any) -> None:
        """Remember a signal and answer it."""
        self.heard = number
        self.answers[number](number, frame)

    def before_train_iter(self, *args: Any, **kwargs: Any) -> None:
        if self.heard is not None:
            self.answers[self.heard](self.heard, None)

    before_val_iter = before_train_iter


@contextmanager
def _hear_signals(runner: Runner) -> Iterator[None]:
    """Let no signal that has an answer be lost while a run goes on."""
    hook = _SignalHook()
    runner.register_hook(hook)
    answered = [number for number, answer in hook.answers.items() if callable(answer)]
    if threading.current_thread() is not threading.main_thread():
        answered = []  # only the main thread hears signals
    for number in answered:
        signal.signal(number, hook.hear)
    report = sys.unraisablehook

    def report_faults(told: Any) -> None:
        if hook.heard is None:  # a signal leaves half-built objects, whose destructors fail
            report(told)

    sys.unraisablehook = report_faults
    try:
        yield
    finally:
        if hook.heard is None:  # else the process ends, and destructors still run
            sys.unraisablehook = report
        for number in answered:
            signal.signal(number, hook.answers[number])


def _farewell(runner: Runner) -> str:
    where = f'training stopped in epoch {runner.epoch + 1}'
    found = checkpoints_of(Path(runner.work_dir))  # written whole, so that the newest is usable
    if not found:
        return f'{where}, before the first checkpoint: --resume starts from the beginning'
    return f'{where}: --resume continues from {found[0]}'
