"""Run units: their configs, the mmengine Runners, and their results."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmpose.registry import MODELS

from hetpose.apis.suites.plan import (
    HELDOUT,
    RESULTS_VERSION,
    Given,
    Settings,
    Unit,
    method_file,
)
from hetpose.apis.suites.store import DIVERGED, Digests, Result
from hetpose.datasets.regression import UCISource
from hetpose.datasets.regression.sinusoid import AMPLITUDES, HALF_WIDTH
from hetpose.datasets.regression.source import build_source
from hetpose.engine.hooks.cost import COST_KEY
from hetpose.engine.hooks.curve import CurveHook
from hetpose.engine.hooks.trajectory import FILE_NAME
from hetpose.engine.launch import build_runner, load_config
from hetpose.engine.lockstep import train_together, use_lockstep
from hetpose.engine.suite import check_length, phases
from hetpose.machine import describe_machine
from hetpose.models.objectives import trains_mean_alone
from hetpose.models.regressors import DivergedError, default_width
from hetpose.ops.spd import NotPositiveDefiniteError
from hetpose.paths import existing

CURVE_POINTS = 20
FIT_POINTS = 801
COSTS = {'milliseconds_per_step': 'time_ms', 'peak_memory_mb': 'memory_mb'}
UNREAD = ('checkpoint', 'logger', 'param_scheduler', 'runtime_info', 'timer')
# Keys of a config that no number depends on.
NOT_IN_DIGEST = ('default_hooks', 'log_level', 'custom_imports', 'default_scope', 'runner_type')
NUMERICAL = (DivergedError, NotPositiveDefiniteError, FloatingPointError, torch.linalg.LinAlgError)


def method_config(method: str, settings: Settings, given: Given | None = None) -> Config:
    """The config of a method under the given settings, before a dataset and a trial are chosen."""
    own = given.configs if given else {}
    config = load_config(own.get(method) or method_file(settings.suite, method))
    # Methods that train their mean alone to begin with have their warm-up built in.
    trains_mean_first = config.method.objective.type == 'MSEObjective'
    config.merge_from_dict(
        {
            'protocol': settings.protocol,
            'epochs': settings.epochs,
            'warmup': settings.warm_up
            and not (trains_mean_first or mean_needs_covariance(config)),
            'train_cfg.val_interval': max(1, settings.epochs // CURVE_POINTS),
        }
    )
    check_length(config)
    # A unit is either stored whole or run again, and many share a terminal: nothing of what the
    # default hooks write at every step is read.
    config.default_hooks = dict.fromkeys(UNREAD)
    config.log_level = 'WARNING'
    return config


def mean_needs_covariance(config: Config) -> bool:
    """Whether a method has no mean without its covariance, and so nothing to warm up."""
    covariance = config.method.get('covariance')
    return covariance is not None and MODELS.get(covariance.type).relocates


def config_digest(
    dataset: str, method: str, settings: Settings, given: Given | None = None
) -> str:
    """A digest of the config, the data and the version of the code that make a result.

    A stored result of another digest is not reused. The digest is the same on every machine.
    """
    given = given or Given()
    content = method_config(method, settings, given).to_dict()
    for key in NOT_IN_DIGEST:
        content.pop(key, None)
    content['version'] = RESULTS_VERSION
    if settings.suite == 'uci':
        table = UCISource(given.datasets.get(dataset, dataset), given.root)
        content['data'] = file_digest(existing(table.path, 'table'))
        content['targets'] = given.targets if dataset in given.datasets else ()
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache
def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def unit_config(
    unit: Unit, settings: Settings, work_dir: Path, given: Given | None = None
) -> Config:
    """The config of one unit."""
    given = given or Given()
    config = method_config(unit.method, settings, given)
    config.dataset = given.datasets.get(unit.dataset, unit.dataset)
    config.trial = unit.trial
    config.work_dir = str(work_dir)
    config.experiment_name = f'{settings.suite}-{unit.name}'.replace('/', '-')
    if settings.suite == 'uci':
        config.source.root = given.root
        if unit.dataset in given.datasets and given.targets:
            config.source.targets = list(given.targets)
    return config


def network_width(dataset: str, settings: Settings, given: Given | None = None) -> int:
    """The width of the networks of a suite on a dataset."""
    config = unit_config(Unit(dataset, 'w2_bound', 0), settings, Path(), given)
    width = config.model.network.get('width')
    if width is None:
        width = default_width(build_source(dict(config.source, name=config.dataset)).dims[1])
    return int(width)


def shares_mean(method: str, settings: Settings, given: Given | None = None) -> bool:
    """Whether a method's mean is that of the squared error, which others of its kind train too."""
    config = method_config(method, settings, given)
    first, later, _ = phases(config.method, config.warmup)
    return all(
        phase.get('freeze_mean') or trains_mean_alone(MODELS.get(phase['objective']['type']))
        for phase in [first, *later]
    )


def run_unit(unit: Unit, settings: Settings, digest: str, folder: Path, *more: Any) -> Result:
    """Train and measure one unit; more arguments as of ``run_stack``."""
    return run_stack([unit], settings, {unit.kind: digest}, folder, *more)[0]


def run_stack(
    units: Sequence[Unit],
    settings: Settings,
    digests: Digests,
    folder: Path,
    given: Given | None = None,
    on_epoch: Callable[[], None] = lambda: None,
) -> list[Result]:
    """Train units whose networks have one shape together, then measure each.

    A numerical failure is a result, not an error. The numbers of a unit do not depend on the
    others but for rounding. What its step cost is known only of a unit that trained alone.
    """
    runs = [Run(unit, settings, digests[unit.kind], folder, given, on_epoch) for unit in units]
    start = time.perf_counter()
    failures = train_together([run.runner for run in runs])
    seconds = (time.perf_counter() - start) / len(runs)
    return [
        run.result(error, seconds, alone=len(runs) == 1)
        for run, error in zip(runs, failures, strict=True)
    ]


class Run:
    """The Runner of one unit, and what comes of it; arguments as of ``run_stack``."""

    def __init__(
        self,
        unit: Unit,
        settings: Settings,
        digest: str,
        folder: Path,
        given: Given | None,
        on_epoch: Callable[[], None],
    ) -> None:
        self.unit, self.settings, self.digest = unit, settings, digest
        self.work_dir = folder / 'runs' / unit.name
        config = unit_config(unit, settings, self.work_dir, given)
        use_lockstep(config)
        self.runner = build_runner(config)
        self.curve = CurveHook()
        self.runner.register_hook(self.curve)
        self.runner.register_hook(ProgressHook(settings.epochs, on_epoch))

    def result(self, error: Exception | None, seconds: float, alone: bool) -> Result:
        """Measure what was trained in so many seconds, unless an error ended it."""
        runner, start = self.runner, time.perf_counter()
        result = Result(self.unit, self.settings, self.digest)
        result.curve = [dict(point) for point in self.curve.points]  # before the evaluations below
        try:
            if error is not None:
                raise error
            if self.settings.protocol == HELDOUT:
                result.validation = _short_names(runner.val())
            result.metrics = _short_names(runner.test())
        except NUMERICAL as failure:
            _record_divergence(result, runner, str(getattr(failure, 'reason', failure)))
            return result
        finally:
            result.made = {
                'seconds': round(seconds + time.perf_counter() - start, 1),
                'machine': f'{describe_machine()}, 1 thread',
                'torch': torch.__version__,
            }
        cost = runner.message_hub.get_info(COST_KEY, {}) if alone else {}
        result.cost = {new: cost[old] for old, new in COSTS.items() if old in cost}
        broken = [
            name
            for name, value in result.metrics.items()
            if value is None or not math.isfinite(value)
        ]
        if broken:
            _record_divergence(result, runner, f'{", ".join(broken)} not finite after training')
        result.extra = EXTRAS.get(self.settings.suite, lambda *_: {})(
            runner, self.unit, self.work_dir
        )
        return result


def _short_names(metrics: dict[str, float]) -> dict[str, float | None]:
    return {name.rsplit('/', 1)[-1]: float(value) for name, value in metrics.items()}


def _record_divergence(result: Result, runner: Runner, reason: str) -> None:
    result.status = DIVERGED
    result.divergence = {'step': runner.iter, 'epoch': runner.epoch, 'reason': reason}


class ProgressHook(Hook):
    """Call back ``parts`` times over a training run, whatever its number of epochs is."""

    def __init__(self, parts: int, call: Callable[[], None]) -> None:
        self.parts = parts
        self.call = call

    def after_train_epoch(self, runner: Runner) -> None:
        done = [
            self.parts * epoch // runner.max_epochs for epoch in (runner.epoch, runner.epoch + 1)
        ]
        for _ in range(done[1] - done[0]):
            self.call()


@torch.no_grad()
def _fitted_sinusoid(runner: Runner, unit: Unit, work_dir: Path) -> dict[str, Any]:
    """The fitted mean and deviation on a grid of inputs, and the true ones."""
    x = torch.linspace(-HALF_WIDTH, HALF_WIDTH, FIT_POINTS)[:, None]
    runner.model.eval()
    mean, covariance = runner.model.distribution(x)
    grid = x[:, 0].double().numpy()
    std = None if covariance is None else covariance.variances[:, 0].sqrt().tolist()
    return {
        'fit': {
            'x': grid.round(5).tolist(),
            'mean': mean[:, 0].tolist(),
            'std': std,
            'true_mean': (AMPLITUDES[unit.dataset](grid) * np.sin(2 * np.pi * grid)).tolist(),
            'true_std': np.abs(grid).tolist(),
        }
    }


def _moved_ellipses(runner: Runner, unit: Unit, work_dir: Path) -> dict[str, Any]:
    """The path of mean and covariance, and where it should end."""
    with np.load(work_dir / FILE_NAME) as stored:
        path = {
            'step': stored['steps'].tolist(),
            'mean': stored['means'].tolist(),
            'covariance': stored['covariances'].tolist(),
        }
    arrays = runner.train_dataloader.dataset.arrays
    target = {
        'mean': arrays.true_mean[0].tolist(),
        'covariance': arrays.true_covariance[0].tolist(),
    }
    return {'trajectory': path, 'target': target}


EXTRAS: dict[str, Callable[[Runner, Unit, Path], dict[str, Any]]] = {
    'univariate': _fitted_sinusoid,
    'bivariate': _moved_ellipses,
}
