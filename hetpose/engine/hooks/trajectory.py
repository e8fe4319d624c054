"""Record how a predicted distribution moves during training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmpose.registry import HOOKS
from torch import Tensor

from hetpose.fileio import atomic_path
from hetpose.models.phase import find_switchable, require_part

FILE_NAME = 'trajectory.npz'
STATE_KEY = 'trajectory'

Record = tuple[Tensor, Tensor, Tensor]  # step (), mean (d,), covariance (d, d)


@HOOKS.register_module()
class TrajectoryHook(Hook):
    """Write μ and Σ at the first training input after every ``interval`` steps.

    The file ``trajectory.npz`` in the work directory holds steps (T,), means (T, d) and
    covariances (T, d, d), starting with step 0, before any update. The path so far travels in the
    checkpoint: a resumed run goes on with it.

    Args:
        interval: steps between records.
    """

    priority = 'LOW'

    def __init__(self, interval: int = 1) -> None:
        if interval < 1:
            raise ValueError(f'interval must be at least 1, got {interval}')
        self.interval = interval
        self._records: list[Record] = []

    def before_train(self, runner) -> None:
        require_part(self, runner.model, 'mean_network')
        if runner.iter == 0:
            self._records = []
        if not self._records:
            self._record(runner, runner.iter)

    def after_train_iter(
        self, runner, batch_idx: int, data_batch: Any = None, outputs: dict | None = None
    ) -> None:
        if self.every_n_train_iters(runner, self.interval):
            self._record(runner, runner.iter + 1)

    def before_save_checkpoint(self, runner, checkpoint: dict) -> None:
        checkpoint[STATE_KEY] = [torch.stack(parts) for parts in zip(*self._records, strict=True)]

    def after_load_checkpoint(self, runner, checkpoint: dict) -> None:
        self._records = list(zip(*checkpoint.get(STATE_KEY, ()), strict=True))

    def after_train(self, runner) -> None:
        if not is_main_process():
            return
        steps, means, covariances = map(np.stack, zip(*self._records, strict=True))
        with atomic_path(Path(runner.work_dir) / FILE_NAME) as path:
            np.savez_compressed(path, steps=steps, means=means, covariances=covariances)

    @torch.no_grad()
    def _record(self, runner, step: int) -> None:
        model = find_switchable(runner.model)
        training = model.training
        model.eval()
        device = next(model.parameters()).device
        mean, covariance = model.distribution(
            runner.train_dataloader.dataset.arrays.x[:1].to(device)
        )
        model.train(training)
        matrix = torch.full((mean.shape[-1],) * 2, float('nan'))
        if covariance is not None:
            matrix = covariance.matrix[0]
        # Copies: the mean of a free vector is a view of the weights, which go on to change.
        self._records.append((torch.tensor(step), mean[0].cpu().clone(), matrix.cpu().clone()))
