"""What a training step costs."""

from __future__ import annotations

import resource
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from mmengine.hooks import Hook
from mmpose.registry import HOOKS

COST_KEY = 'cost'
WARM_UP_STEPS = 5
CLEAR_REFS = Path('/proc/self/clear_refs')
STATUS = Path('/proc/self/status')
RESET_PEAK = '5'  # what makes Linux forget the peak of the resident memory


@HOOKS.register_module()
class CostHook(Hook):
    """Median time per training step and peak memory, in ``message_hub`` info 'cost'.

    Memory is what the GPU allocated at most, else the peak resident memory of the process above
    what it held when training began.
    """

    priority = 'LOWEST'

    def before_train(self, runner) -> None:
        self._times: list[float] = []
        self._base = _reset_peak()

    def before_train_iter(self, runner, batch_idx: int, data_batch: Any = None) -> None:
        self._start = time.perf_counter()

    def after_train_iter(
        self, runner, batch_idx: int, data_batch: Any = None, outputs: dict | None = None
    ) -> None:
        self._times.append(time.perf_counter() - self._start)

    def after_train(self, runner) -> None:
        times = self._times[WARM_UP_STEPS:] or self._times
        cost = {
            'milliseconds_per_step': 1e3 * statistics.median(times) if times else 0.0,
            'peak_memory_mb': (_peak() - self._base) / 2**20,
        }
        runner.message_hub.update_info(COST_KEY, cost)


def _reset_peak() -> int:
    """Forget the peak; the bytes held now."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()
    try:
        CLEAR_REFS.write_text(RESET_PEAK)
    except OSError:
        return 0  # not Linux, or not allowed: report the peak of the whole process
    return _peak()


def _peak() -> int:
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    if STATUS.exists():
        lines = dict(line.split(':', 1) for line in STATUS.read_text().splitlines())
        return int(lines['VmHWM'].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
