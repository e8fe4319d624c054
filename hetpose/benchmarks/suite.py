"""The UCI suite on held-out data: what its units cost now, and with the plain form of each part.

Plain are: a check of gradients by their largest element, logged scalars that keep their whole
history, and workers that import everything for every unit. The numbers of a unit do not depend on
the form. Times are CPU seconds, which other work on the machine changes little.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner

from hetpose.apis.suites.execute import unit_config
from hetpose.apis.suites.plan import Given, Settings, Unit
from hetpose.apis.suites.schedule import EXECUTION
from hetpose.benchmarks.harness import Row, write_random_table
from hetpose.engine.hooks import ShortHistoryHook
from hetpose.engine.launch import build_runner

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


class StepTimes(Hook):
    """CPU seconds between the ends of training steps."""

    priority = 'LOWEST'

    def __init__(self) -> None:
        self.ends: list[float] = []

    def after_train_iter(
        self, runner, batch_idx: int, data_batch: Any = None, outputs: dict | None = None
    ) -> None:
        self.ends.append(time.process_time())

    def median(self) -> float:
        return statistics.median(np.diff(self.ends)[WARM_UP:])


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


def one_epoch(folder: Path, columns: int, method: str) -> Runner:
    """A Runner of one short epoch on a random table of so many columns."""
    rows = max(int(STEPS * BATCH / TRAIN) + 1, 10 * columns)
    table = folder / f'random{columns}.csv'
    write_random_table(table, rows, columns)
    unit = Unit(table.stem, method, 0)
    given = Given(tables=(str(table),))
    config = unit_config(unit, Settings('uci', 'heldout', 1), folder / 'work', given)
    config.custom_hooks = [h for h in config.custom_hooks if h['type'] != 'KeepBestHook']
    config.train_cfg.val_interval = 10
    return build_runner(config)


def step_seconds(folder: Path, columns: int, method: str, plain: bool, steps: int) -> float:
    """Median CPU seconds of a training step in the middle of a run of so many steps."""
    runner = one_epoch(folder, columns, method)
    times = StepTimes()
    runner.register_hook(times)
    if plain:
        runner._hooks = [h for h in runner.hooks if not isinstance(h, ShortHistoryHook)]
        runner.register_hook(LongHistory(steps // 2))
        runner.optim_wrapper = runner.build_optim_wrapper(runner.optim_wrapper)
        runner.optim_wrapper.optimizer.register_step_pre_hook(check_by_largest)
    runner.train()
    return times.median()


def import_seconds() -> float:
    """CPU seconds of importing what a worker needs."""
    code = f'import time, {EXECUTION}; print(time.process_time())'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def run(quick: bool = False) -> list[Row]:
    """One row for each width of network and one for the whole suite, for the method nll."""
    torch.set_num_threads(1)
    sets = {name: SETS[name] for name in (('energy',) if quick else SETS)}
    importing = import_seconds()
    whole = {'now': 0.0, 'plain': 0.0}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (count, columns, trials) in sets.items():
            steps = EPOCHS * -(-int(TRAIN * count) // BATCH)
            costs = {
                form: step_seconds(Path(folder), columns, 'nll', form == 'plain', steps)
                for form in ('now', 'plain', 'now', 'plain')
            }
            whole['now'] += trials * steps * costs['now']
            whole['plain'] += trials * (steps * costs['plain'] + importing)
            ratio = costs['plain'] / costs['now']
            metrics: dict[str, float | str] = {
                'ms/step now': 1e3 * costs['now'],
                'plain': 1e3 * costs['plain'],
                'ratio': ratio,
            }
            rows.append(Row(f'{name}, d = {columns - columns // 4}', metrics))
    ratio = whole['plain'] / whole['now']
    total: dict[str, float | str] = {
        'hours now': whole['now'] / 3600,
        'plain': whole['plain'] / 3600,
        'ratio': ratio,
    }
    rows.append(Row('whole suite, one method', total))
    return rows
