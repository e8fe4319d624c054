"""Keep the history of logged scalars short."""

from __future__ import annotations

from typing import Any

from mmengine.hooks import Hook
from mmpose.registry import HOOKS


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
