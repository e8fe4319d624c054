"""From a config file to a Runner that can start: one place for launch logic, for every tool.

On a GPU the processes talk over nccl, on a CPU over gloo. What a user can get wrong is checked
here, before the Runner is built, so that the first line they see names it.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dist import init_dist, is_distributed
from mmengine.registry import RUNNERS
from mmengine.runner import Runner

from hetpose.engine.checkpoint import check_fit, read_checkpoint
from hetpose.engine.children import die_with_parent
from hetpose.engine.config_file import load_config as load_config
from hetpose.engine.config_file import one_line
from hetpose.engine.hooks.finite_guard import FiniteGuardHook
from hetpose.engine.loaders import guarded_loader, quarantine_for
from hetpose.engine.phases import enter_phase
from hetpose.engine.pose_setup import check_evaluators, check_pose_config, check_pose_model
from hetpose.engine.resume import StartHook
from hetpose.engine.seeding import seed_training, start_workers_well
from hetpose.errors import UserError

# How the records begin by which mmengine describes a run, in hundreds of lines.
DESCRIPTIONS = ('System environment:', 'Config:\n', 'Hooks will be executed')


def use_work_dir(config: Config, work_dir: str | None, path: str | Path) -> None:
    """Set the work directory: argument, then config, then ``work_dirs/<config name>``."""
    if work_dir is not None:
        config.work_dir = work_dir
    elif config.get('work_dir') is None:
        config.work_dir = str(Path('work_dirs') / Path(path).stem)


def use_launcher(config: Config, launcher: str) -> None:
    """Make the config start under ``launcher``: nccl on GPUs as mmengine does it, gloo on CPUs.

    mmengine's own start-up sets a CUDA device whatever the backend is, so on a CPU the process
    group is opened here.
    """
    config.launcher = launcher
    if launcher == 'none' or torch.cuda.is_available():
        return
    if launcher != 'pytorch':
        raise UserError(
            f'--launcher {launcher} needs a GPU; on CPUs use --launcher pytorch (torchrun)'
        )
    if not is_distributed():
        missing = [name for name in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK') if name not in os.environ]
        if missing:
            raise UserError(
                f'--launcher pytorch without {", ".join(missing)}: start with tools/dist_train.sh'
            )
        die_with_parent()
        torch.distributed.init_process_group('gloo')
    config.model_wrapper_cfg = dict(
        type='MMDistributedDataParallel',
        device_ids=None,
        broadcast_buffers=False,
        find_unused_parameters=config.get('find_unused_parameters', False),
    )


def join_processes(config: Config) -> None:
    """Let the processes of a launcher meet now, where no Runner will do it."""
    if config.launcher != 'none' and not is_distributed():
        init_dist(config.launcher, **config.get('env_cfg', {}).get('dist_cfg', {}))


def use_amp(config: Config) -> None:
    """Switch the optimiser wrapper to mixed precision."""
    if not torch.cuda.is_available():
        raise UserError('--amp needs a GPU: mixed precision on a CPU is not supported by mmengine')
    kind = config.optim_wrapper.get('type', 'OptimWrapper')
    if kind not in ('OptimWrapper', 'AmpOptimWrapper'):
        raise UserError(f'--amp does not know the optimiser wrapper {kind!r} of this config')
    config.optim_wrapper.type = 'AmpOptimWrapper'
    config.optim_wrapper.setdefault('loss_scale', 'dynamic')


def use_visualization(config: Config, show_dir: str | None, interval: int = 1) -> None:
    """Draw every ``interval``-th sample of the evaluation into ``show_dir``."""
    if show_dir is None:
        return
    hook = config.get('default_hooks', {}).get('visualization')
    if hook is None:
        raise UserError('--show-dir: this config has no default_hooks.visualization')
    if hook.get('type') == 'PoseVisualizationHook':
        hook.clear()
        hook.type = 'ShowPoseHook'
    hook.update(enable=True, out_dir=show_dir, interval=interval)


def build_runner(config: Config) -> Runner:
    """Build the Runner; what the registries or the data sets refuse becomes one line.

    The parts of a pose config must fit each other, see ``pose_setup``.
    """
    try:
        check_pose_config(config)
        check_evaluators(config)
        with _short_start():
            runner = RUNNERS.build(config) if 'runner_type' in config else Runner.from_cfg(config)
        check_pose_model(runner.model)
    except UserError as error:
        raise UserError(f'config {config.filename}: {error}') from error
    except OSError as error:
        # Of a full disk or a folder that cannot be written to, the system names no file.
        where = '' if error.filename else f'cannot write to {config.get("work_dir")}: '
        raise UserError(f'{where}{one_line(error)}') from error
    except (KeyError, TypeError, ValueError, ImportError, AssertionError) as error:
        raise UserError(f'config {config.filename}: {one_line(error)}') from error
    _describe(runner)
    runner.register_hook(StartHook())
    if not any(isinstance(hook, FiniteGuardHook) for hook in runner.hooks):
        runner.register_hook(FiniteGuardHook())
    seed_training(runner)
    start_workers_well(runner)
    return runner


def build_dataloaders(runner: Runner, *names: str) -> None:
    """Build the named data loaders now, so that a missing data root is the first thing said."""
    for name in names:
        loader = getattr(runner, f'_{name}_dataloader')
        if not isinstance(loader, dict):
            continue
        try:
            different = runner._randomness_cfg.get('diff_rank_seed', False)
            built = guarded_loader(
                loader,
                quarantine_for(runner.cfg, name, runner.work_dir),
                partial(runner.build_dataloader, seed=runner.seed, diff_rank_seed=different),
            )
            setattr(runner, f'_{name}_dataloader', built)
        except (OSError, KeyError, TypeError, ValueError, AssertionError) as error:
            # mmpose's COCO classes assert that the annotation file exists.
            raise UserError(f'{name} data: {one_line(error)}') from error


def check_start(runner: Runner, path: str, whole: bool) -> None:
    """Raise where a checkpoint does not fit the model of a Runner, in the checkpoint's phase.

    Args:
        runner: The Runner, before it loads.
        path: The checkpoint file; an address (with ``://``) is left to mmengine.
        whole: Whether every weight must be there, as for a test.
    """
    if '://' in path:
        return
    content = read_checkpoint(path)
    if whole:
        enter_phase(runner.model, runner.cfg, content)
    check_fit(runner.model, content, path, whole)


class _NoDescriptions(logging.Filter):
    """Leave out of a terminal what the log file keeps."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage().lstrip('\n-')
        return not text.startswith(DESCRIPTIONS)


@contextmanager
def _short_start() -> Iterator[None]:
    """Within it, a Runner describes its config, environment and hooks to its log file only."""
    original = Runner.build_logger

    def build_logger(self: Runner, *args: Any, **kwargs: Any) -> Any:
        logger = original(self, *args, **kwargs)
        for handler in logger.handlers:
            if isinstance(handler, logging.FileHandler):
                handler.handleError = _raise  # type: ignore[method-assign]
            else:
                handler.addFilter(_NoDescriptions())
        return logger

    Runner.build_logger = build_logger  # type: ignore[method-assign]
    try:
        yield
    finally:
        Runner.build_logger = original


def _raise(record: logging.LogRecord) -> None:
    """End a run whose log cannot be written; logging would print a trace for every record."""
    error = sys.exc_info()[1]
    if isinstance(error, OSError):
        raise error


def _describe(runner: Runner) -> None:
    """The line in place of the descriptions: where they are."""
    files = [h.baseFilename for h in runner.logger.handlers if hasattr(h, 'baseFilename')]
    if files:
        runner.logger.info(f'config, environment and hooks stand in {files[0]}')
