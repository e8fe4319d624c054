"""The time and memory of a training step: measured, and kept from growing with the run."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from mmengine.hooks import Hook
from mmpose.registry import HOOKS
from torch import nn

from hetpose import memory
from hetpose.models.phase import find_switchable, is_switchable

COST_KEY = 'cost'
WARM_UP_STEPS = 5


@dataclass
class PhaseCost:
    """The steps of one phase: seconds of each, and the most bytes in the first ones."""

    base: int
    highest: int = 0
    times: list[float] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        self.times.append(seconds)
        if len(self.times) <= WARM_UP_STEPS:
            self.highest = _peak()

    def summary(self) -> dict[str, float]:
        return {
            'milliseconds_per_step': 1e3
            * statistics.median(self.times[WARM_UP_STEPS:] or self.times),
            'peak_memory_mb': (self.highest - self.base) / 2**20,
        }


@HOOKS.register_module()
class CostHook(Hook):
    """Median time per training step and peak memory, in ``message_hub`` info 'cost'.

    Memory is what the GPU allocated at most in the first steps, else the peak resident memory of
    the process above what it held when they began. Validations do not count. Of a method that
    trains in phases it is the dearest phase, in time and in memory.
    """

    priority = 'LOWEST'  # a phase begins after the hooks that switch to it

    def before_train(self, runner) -> None:
        self._phases: dict[int | None, PhaseCost] = {}

    def before_train_epoch(self, runner) -> None:
        number = _phase_number(runner.model)
        if number not in self._phases:
            self._phases[number] = PhaseCost(_reset_peak())
        self._phase = self._phases[number]

    def before_train_iter(self, runner, batch_idx: int, data_batch: Any = None) -> None:
        self._start = time.perf_counter()

    def after_train_iter(
        self, runner, batch_idx: int, data_batch: Any = None, outputs: dict | None = None
    ) -> None:
        self._phase.add(time.perf_counter() - self._start)

    def after_train(self, runner) -> None:
        phases = [phase.summary() for phase in self._phases.values() if phase.times]
        cost = {name: max(phase[name] for phase in phases) for name in phases[0]} if phases else {}
        runner.message_hub.update_info(COST_KEY, cost)


def _phase_number(model: nn.Module) -> int | None:
    return find_switchable(model).phase.number if is_switchable(model) else None


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
