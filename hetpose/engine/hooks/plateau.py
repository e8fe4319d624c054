"""Lower the learning rate when the training loss no longer falls."""

from __future__ import annotations

from typing import Any

import torch
from mmengine.dist import all_reduce
from mmengine.hooks import Hook
from mmpose.registry import HOOKS

from hetpose.models.phase import find_switchable, is_switchable

STATE_KEY = 'plateau_state'
MEAN, COVARIANCE = 'mean', 'covariance'


@HOOKS.register_module()
class TrainingLossPlateauHook(Hook):
    """ReduceLROnPlateau on the epoch's mean training loss; mmengine's own watches validation.

    Where the objective is decoupled (its mean part is ‖r‖² and its other part does not reach the
    mean), parameter groups named 'mean' and 'covariance' watch their own part, so the mean network
    learns exactly as by the squared error. A new objective starts a new count.

    Args:
        factor: what the learning rate is multiplied by.
        patience: epochs without progress that are allowed.
        min_lr: smallest learning rate.
        threshold: relative fall that counts as progress.
    """

    priority = 'NORMAL'

    def __init__(
        self,
        factor: float = 0.25,
        patience: int = 10,
        min_lr: float = 1e-6,
        threshold: float = 1e-4,
    ) -> None:
        if not 0 < factor < 1:
            raise ValueError(f'factor must lie in (0, 1), got {factor}')
        self.factor = factor
        self.patience = patience
        self.min_lr = min_lr
        self.threshold = threshold

    def before_train_epoch(self, runner) -> None:
        self._sums: dict[str, Any] = {'loss': 0.0, 'squared_error': 0.0}
        self._count = 0

    def after_train_iter(
        self, runner, batch_idx: int, data_batch: Any = None, outputs: dict | None = None
    ) -> None:
        """Add up without leaving the device."""
        if not outputs:
            return  # the step was skipped
        for name in self._sums:
            if name in outputs:
                self._sums[name] = self._sums[name] + outputs[name].detach()
        self._count += 1

    def after_train_epoch(self, runner) -> None:
        watched = self._watched(runner)
        phase = find_switchable(runner.model).phase.number if is_switchable(runner.model) else 0
        state = runner.message_hub.get_info(STATE_KEY, None)
        if state is None or state['phase'] != phase:
            state = {'phase': phase, 'groups': {}}
        for index, group in enumerate(runner.optim_wrapper.param_groups):
            name = group.get('name', str(index))
            loss = watched.get(name, watched['loss'])
            best, bad = state['groups'].get(name, (float('inf'), 0))
            if loss < best - self.threshold * abs(best) or best == float('inf'):
                best, bad = loss, 0
            else:
                bad += 1
            if bad > self.patience:
                group['lr'] = max(group['lr'] * self.factor, self.min_lr)
                bad = 0
            state['groups'][name] = (best, bad)
        runner.message_hub.update_info(STATE_KEY, state)

    def _watched(self, runner) -> dict[str, float]:
        """The loss that each group watches, averaged over the epoch and the processes."""
        names = list(self._sums)
        means = torch.tensor([float(self._sums[name]) for name in names]) / max(self._count, 1)
        all_reduce(means, op='mean')
        loss, squared_error = means.tolist()
        if not is_switchable(runner.model) or not self._decoupled(runner):
            return {'loss': loss}
        return {'loss': loss, MEAN: squared_error, COVARIANCE: loss - squared_error}

    @staticmethod
    def _decoupled(runner) -> bool:
        return find_switchable(runner.model).objective.decoupled
