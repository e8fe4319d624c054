"""Record how a predicted distribution moves during training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmpose.registry import HOOKS

from hetpose.engine.hooks.objective_switch import find_switchable
from hetpose.fileio import atomic_path

FILE_NAME = 'trajectory.npz'


@HOOKS.register_module()
class TrajectoryHook(Hook):
    """Write μ and Σ at the first training input after every ``interval`` steps.

    The file ``trajectory.npz`` in the work directory holds steps (T,), means (T, d) and
    covariances (T, d, d), starting with step 0, before any update.

    Args:
        interval: steps between records.
    """

    priority = 'LOW'

    def __init__(self, interval: int = 1) -> None:
        if interval < 1:
            raise ValueError(f'interval must be at least 1, got {interval}')
        self.interval = interval

    def before_train(self, runner) -> None:
        self._records: list[tuple[int, np.ndarray, np.ndarray]] = []
        self._record(runner, runner.iter)

    def after_train_iter(
        self, runner, batch_idx: int, data_batch: Any = None, outputs: dict | None = None
    ) -> None:
        if self.every_n_train_iters(runner, self.interval):
            self._record(runner, runner.iter + 1)

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
        copies = mean[0].cpu().numpy().copy(), matrix.cpu().numpy().copy()
        self._records.append((step, *copies))
