"""The UCI suite on held-out data: what its units cost now, and with the plain form of each part.

Now units train in stacks. Plain are: units that train one by one in mmengine's own loop, a check
of gradients by their largest element, logged scalars that keep their whole history, and workers
that import everything for every unit. The numbers of a unit do not depend on the form, but for
rounding. Times are CPU seconds, which other work on the machine changes little.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from tqdm import tqdm

from hetpose.apis.suites.execute import shares_mean, unit_config
from hetpose.apis.suites.plan import SUITES, Given, Settings, Unit, plan_stacks
from hetpose.apis.suites.schedule import EXECUTION
from hetpose.benchmarks.harness import Row, write_random_table
from hetpose.engine.launch import build_runner
from hetpose.engine.lockstep import train_together, use_lockstep
from hetpose.models.regressors import default_width

BATCH = 32
STEPS, WARM_UP = 40, 10
TRAIN = 0.8  # of the rows are trained on
# rows, columns and trials of each set in the suite
SETS = {
    'abalone': (4177, 8, 5),
    'air': (6941, 15, 2),
    'appliances': (19735, 28, 2),
    'concrete': (1030, 9, 5),
    'electrical': (10000, 14, 2),
    'energy': (768, 10, 5),
    'gas': (36733, 11, 2),
    'naval': (11934, 18, 2),
    'parkinson': (1208, 26, 5),
    'power': (26208, 12, 2),
    'red_wine': (1599, 12, 5),
    'white_wine': (4898, 12, 5),
}
EPOCHS = 100
SETTINGS = Settings('uci', 'heldout', 2)  # epochs: the hybrid has two phases


class StepTimes(Hook):
    """CPU seconds between the ends of training steps, by epoch."""

    priority = 'LOWEST'

    def __init__(self) -> None:
        self.ends: dict[int, list[float]] = {}

    def after_train_iter(
        self, runner, batch_idx: int, data_batch: Any = None, outputs: dict | None = None
    ) -> None:
        self.ends.setdefault(runner.epoch, []).append(time.process_time())

    def seconds(self) -> float:
        """The median step of every epoch, for each epoch that the settings name.

        A method that trains its networks in turn has twice as many.
        """
        medians = [statistics.median(np.diff(ends)[WARM_UP:]) for ends in self.ends.values()]
        return sum(medians) / SETTINGS.epochs


class LongHistory(Hook):
    """Give every logged scalar the history that it has in the middle of a run."""

    def __init__(self, length: int) -> None:
        self.length = length

    def before_train_iter(self, runner, batch_idx: int, data_batch: Any = None) -> None:
        if batch_idx == WARM_UP // 2:
            for buffer in runner.message_hub.log_scalars.values():
                buffer._log_history = np.zeros(self.length)
                buffer._count_history = np.zeros(self.length, dtype=np.int64)


def check_by_largest(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    """Refuse a gradient whose largest element is not finite."""
    weights = [weight for group in optimizer.param_groups for weight in group['params']]
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    largest = torch.stack(torch._foreach_norm(gradients, float('inf')))
    if not torch.isfinite(largest).all():
        raise FloatingPointError('a gradient is not finite')


def short_unit(folder: Path, columns: int, method: str, trial: int) -> tuple[Unit, Config]:
    """A unit of short epochs on a random table of so many columns."""
    rows = max(int(STEPS * BATCH / TRAIN) + 1, 10 * columns)
    table = folder / f'random{columns}.csv'
    if not table.exists():
        write_random_table(table, rows, columns)
    unit = Unit(table.stem, method, trial)
    config = unit_config(unit, SETTINGS, folder / 'work', Given(tables=(str(table),)))
    config.custom_hooks = [h for h in config.custom_hooks if h['type'] != 'KeepBestHook']
    config.train_cfg.val_interval = 10
    config.experiment_name = f'{unit.name}-{time.perf_counter_ns()}'.replace('/', '-')
    return unit, config


def plain_seconds(folder: Path, columns: int, method: str, steps: int) -> float:
    """CPU seconds of a step of one unit in the middle of a run of so many steps."""
    _, config = short_unit(folder, columns, method, 0)
    config.default_hooks = {'checkpoint': None}
    runner = build_runner(config)
    times = StepTimes()
    runner.register_hook(times)
    runner.register_hook(LongHistory(steps // 2))
    runner.optim_wrapper = runner.build_optim_wrapper(runner.optim_wrapper)
    runner.optim_wrapper.optimizer.register_step_pre_hook(check_by_largest)
    runner.train()
    return times.seconds()


def stack_seconds(folder: Path, columns: int, units: Sequence[Unit]) -> float:
    """CPU seconds of a step of a stack of units."""
    runners = []
    for unit in units:
        _, config = short_unit(folder, columns, unit.method, unit.trial)
        use_lockstep(config)
        runners.append(build_runner(config))
    times = StepTimes()
    max(runners, key=lambda runner: runner.max_epochs).register_hook(times)
    train_together(runners)
    return times.seconds()


def set_seconds(
    folder: Path, columns: int, trials: int, steps: int, methods: Sequence[str]
) -> dict[str, float]:
    """CPU seconds of a step of every method in every trial, now and plain."""
    units = [short_unit(folder, columns, m, t)[0] for t in range(trials) for m in methods]
    sharing = [method for method in methods if shares_mean(method, SETTINGS)]
    width = default_width(columns - columns // 4)
    stacks = plan_stacks(SUITES['uci'], units, sharing, {units[0].dataset: width})
    return {
        'now': sum(stack_seconds(folder, columns, stack) for stack in stacks),
        'plain': trials * sum(plain_seconds(folder, columns, m, steps) for m in methods),
    }


def import_seconds() -> float:
    """CPU seconds of importing what a worker needs."""
    code = f'import time, {EXECUTION}; print(time.process_time())'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def run(quick: bool = False) -> list[Row]:
    """One row for each set and one for the whole suite."""
    torch.set_num_threads(1)
    sets = {name: SETS[name] for name in (('energy',) if quick else SETS)}
    methods = ('mse', 'nll', 'w2_bound') if quick else SUITES['uci'].methods
    importing = import_seconds()
    whole = {'now': 0.0, 'plain': 0.0}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (count, columns, trials) in tqdm(sets.items(), unit='set', disable=quick):
            steps = EPOCHS * -(-int(TRAIN * count) // BATCH)
            costs = set_seconds(Path(folder), columns, trials, steps, methods)
            whole['now'] += steps * costs['now']
            whole['plain'] += steps * costs['plain'] + trials * len(methods) * importing
            metrics: dict[str, float | str] = {
                'ms/step now': 1e3 * costs['now'] / trials,
                'plain': 1e3 * costs['plain'] / trials,
                'ratio': costs['plain'] / costs['now'],
            }
            rows.append(Row(f'{name}, d = {columns - columns // 4}, {trials} trials', metrics))
    ratio = whole['plain'] / whole['now']
    total: dict[str, float | str] = {
        'hours now': whole['now'] / 3600,
        'plain': whole['plain'] / 3600,
        'ratio': ratio,
    }
    name = f'whole suite, {len(methods)} methods'
    required = ('', None) if quick else ('>= 2 times faster', bool(ratio >= 2))
    rows.append(Row(name, total, *required))
    return rows
