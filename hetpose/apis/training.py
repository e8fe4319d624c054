"""Train and evaluate the model of a config: what ``hetpose train`` and ``hetpose test`` call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.dist import is_main_process

from hetpose import fileio
from hetpose.apis.shipped import resolve_model
from hetpose.engine import launch, running
from hetpose.engine.launch import load_config
from hetpose.engine.loaders import report_bad_samples
from hetpose.engine.resume import AUTO, check_resume, use_resume
from hetpose.errors import UserError

__all__ = ['evaluate', 'join_processes', 'load_config', 'train']

Options = dict[str, Any] | Sequence[str] | None  # by dotted key, or as KEY=VALUE


def join_processes(config: Config, launcher: str) -> None:
    """Let the processes of a launcher meet, for what runs without a Runner."""
    launch.use_launcher(config, launcher)
    launch.join_processes(config)


def _prepared(
    path: str | Path,
    options: Options,
    work_dir: str | None,
    launcher: str,
    show_dir: str | None,
    interval: int,
) -> Config:
    """The config with what training and testing set in the same way."""
    config = load_config(path, options)
    launch.use_work_dir(config, work_dir, path)
    launch.use_launcher(config, launcher)
    launch.use_visualization(config, show_dir, interval)
    return config


def train(
    path: str | Path,
    *,
    work_dir: str | None = None,
    resume: str | None = None,
    amp: bool = False,
    validate: bool = True,
    auto_scale_lr: bool = False,
    show_dir: str | None = None,
    interval: int = 1,
    options: Options = None,
    launcher: str = 'none',
) -> None:
    """Train the model of a config file.

    Args:
        path: The config file.
        work_dir: Where logs and checkpoints go; None: ``work_dirs/<config name>``.
        resume: A checkpoint to continue from; ``'auto'``: the newest in the work directory.
        amp: Use mixed precision, which needs a GPU.
        validate: Evaluate during training, as the config states.
        auto_scale_lr: Scale the learning rate by the actual over the configured batch size.
        show_dir: A folder for pictures of every ``interval``-th evaluated sample.
        interval: See ``show_dir``.
        options: Changes to the config.
        launcher: What started the processes: none, pytorch, slurm or mpi.
    """
    config = _prepared(path, options, work_dir, launcher, show_dir, interval)
    if amp:
        launch.use_amp(config)
    if not validate:
        config.val_cfg = config.val_dataloader = config.val_evaluator = None
    if auto_scale_lr:
        if 'auto_scale_lr' not in config:
            raise UserError(f'--auto-scale-lr: {path} has no auto_scale_lr.base_batch_size')
        config.auto_scale_lr.enable = True
    with running.own_folder(config.work_dir):
        _train(config, resume)


def _train(config: Config, resume: str | None) -> None:
    if resume is not None or config.get('resume'):
        use_resume(config, resume or config.get('load_from') or AUTO)
    runner = launch.build_runner(config)
    start = config.get('load_from')
    if start and config.get('resume'):
        check_resume(runner.model, runner.cfg, start)
    elif start:
        launch.check_start(runner, start, whole=False)
    launch.build_dataloaders(runner, 'train', 'val')
    running.train(runner)
    loops = (runner.train_loop, runner.val_loop)  # a run without validation has none
    report_bad_samples(*(loop.dataloader for loop in loops if loop is not None))


def evaluate(
    path: str | Path,
    checkpoint: str | Path | None = None,
    *,
    work_dir: str | None = None,
    out: str | Path | None = None,
    dump: str | Path | None = None,
    show_dir: str | None = None,
    interval: int = 1,
    options: Options = None,
    launcher: str = 'none',
) -> dict[str, float]:
    """Evaluate a checkpoint with the test data and metrics of a config file; returns the metrics.

    Args:
        path: The config file, or the name of a model that comes with hetpose.
        checkpoint: The weights; every weight of the model must be in it. A named model has some.
        work_dir: Where logs go; None: ``work_dirs/<config name>``.
        out: A JSON file for the metrics.
        dump: A pickle file for the predictions, for offline evaluation.
        show_dir: A folder for pictures of every ``interval``-th sample.
        interval: See ``show_dir``.
        options: Changes to the config.
        launcher: What started the processes: none, pytorch, slurm or mpi.
    """
    if dump is not None and Path(dump).suffix not in ('.pkl', '.pickle'):
        raise UserError('--dump writes a pickle file: its name must end in .pkl')
    path, checkpoint = resolve_model(path, checkpoint)
    if checkpoint is None:
        raise UserError(f'the checkpoint is missing: config {path} has no weights of its own')
    config = _prepared(path, options, work_dir, launcher, show_dir, interval)
    config.load_from = str(checkpoint)
    config.resume = False
    if dump is not None:
        evaluators = config.test_evaluator
        evaluators = list(evaluators) if isinstance(evaluators, list | tuple) else [evaluators]
        config.test_evaluator = [*evaluators, dict(type='DumpResults', out_file_path=str(dump))]

    runner = launch.build_runner(config)
    launch.check_start(runner, str(checkpoint), whole=True)
    launch.build_dataloaders(runner, 'test')
    metrics = runner.test()
    report_bad_samples(runner.test_dataloader)
    if out is not None and is_main_process():
        fileio.write_json(out, metrics)
    return metrics
