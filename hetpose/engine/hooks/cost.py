"""The time and memory of a training step: measured, and kept from growing with the run."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch
from mmengine.hooks import Hook
from mmpose.registry import HOOKS

from hetpose import memory

COST_KEY = 'cost'
WARM_UP_STEPS = 5


@HOOKS.register_module()
class CostHook(Hook):
    """Median time per training step and peak memory, in ``message_hub`` info 'cost'.

    Memory is what the GPU allocated at most in the first steps, else the peak resident memory of
    the process above what it held when training began. Validations do not count.
    """

    priority = 'LOWEST'

    def before_train(self, runner) -> None:
        self._times: list[float] = []
        self._base = _reset_peak()
        self._highest: int | None = None

    def before_train_iter(self, runner, batch_idx: int, data_batch: Any = None) -> None:
        self._start = time.perf_counter()

    def after_train_iter(
        self, runner, batch_idx: int, data_batch: Any = None, outputs: dict | None = None
    ) -> None:
        self._times.append(time.perf_counter() - self._start)
        if len(self._times) == WARM_UP_STEPS:
            self._highest = _peak()

    def after_train(self, runner) -> None:
        times = self._times[WARM_UP_STEPS:] or self._times
        highest = _peak() if self._highest is None else self._highest
        cost = {
            'milliseconds_per_step': 1e3 * statistics.median(times) if times else 0.0,
            'peak_memory_mb': (highest - self._base) / 2**20,
        }
        runner.message_hub.update_info(COST_KEY, cost)


def _reset_peak() -> int:
    """Forget the peak; the bytes held now."""
    if not torch.cuda.is_available():
        return memory.reset_peak()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def _peak() -> int:
    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else memory.peak()


@HOOKS.register_module()
class ShortHistoryHook(Hook):
    """Drop all but the latest values of every logged scalar, once in ``keep`` steps.

    mmengine copies the whole history of a scalar at every step, so that step 80,000 of a small
    network takes a third longer than its first. Logs average over far fewer steps.

    Args:
        keep: how many values stay.
    """

    priority = 'VERY_LOW'

    def __init__(self, keep: int = 1000) -> None:
        if keep < 1:
            raise ValueError(f'keep must be at least 1, got {keep}')
        self.keep = keep

    def after_train_iter(
        self, runner, batch_idx: int, data_batch: Any = None, outputs: dict | None = None
    ) -> None:
        if not self.every_n_train_iters(runner, self.keep):
            return
        for buffer in runner.message_hub.log_scalars.values():
            buffer._log_history = buffer._log_history[-self.keep :]
            buffer._count_history = buffer._count_history[-self.keep :]
