"""Keep the weights of the lowest value of a metric, and stop when it no longer falls."""

from __future__ import annotations

import math

from mmengine.hooks import Hook
from mmpose.registry import HOOKS
from torch import Tensor


@HOOKS.register_module()
class KeepLowestHook(Hook):
    """End training with the weights of the epoch whose validation was best.

    The weights that training starts with are validated too: they may be the best.

    Args:
        monitor: the metric, by name; lower is better.
        patience: epochs without a new best after which training ends.
    """

    def __init__(self, monitor: str = 'nll', patience: int = 10) -> None:
        if patience < 1:
            raise ValueError(f'patience must be at least 1, got {patience}')
        self.monitor, self.patience = monitor, patience
        self.best, self.waited = math.inf, 0
        self.weights: dict[str, Tensor] = {}

    def before_train(self, runner) -> None:
        runner.val_loop.run()

    def after_val_epoch(self, runner, metrics: dict[str, float] | None = None) -> None:
        value = (metrics or {})[self.monitor]
        if value < self.best:
            state = runner.model.state_dict()
            self.weights = {name: tensor.detach().clone() for name, tensor in state.items()}
            self.best, self.waited = value, 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            runner.train_loop.stop_training = True

    def after_train(self, runner) -> None:
        runner.model.load_state_dict(self.weights)
