"""Run a training that others can trust: alone in its folder, and ended with a sentence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from mmengine.dist import is_main_process
from mmengine.runner import Runner

from hetpose.engine.hooks.checkpoint import POINTER
from hetpose.engine.hooks.finite_guard import NUMERICAL
from hetpose.engine.lock import locked
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
        runner.train()
    except NUMERICAL as error:
        raise UserError(f'{error}') from error
    except (KeyboardInterrupt, SystemExit):
        if is_main_process():
            print(_farewell(runner), file=sys.stderr, flush=True)
        raise


def _farewell(runner: Runner) -> str:
    where = f'training stopped in epoch {runner.epoch + 1}'
    pointer = Path(runner.work_dir) / POINTER
    if not pointer.is_file():
        return f'{where}, before the first checkpoint: --resume starts from the beginning'
    return f'{where}: --resume continues from {pointer.read_text(encoding="utf-8").strip()}'
