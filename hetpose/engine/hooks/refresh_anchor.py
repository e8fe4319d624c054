"""Keep the anchor of a covariance at the covariance of the residuals."""

from __future__ import annotations

from typing import Any

import torch
from mmengine.dist import all_reduce
from mmengine.hooks import Hook
from mmpose.registry import HOOKS, MODELS
from torch import Tensor

from hetpose.engine.hooks.objective_switch import ObjectiveSwitchHook
from hetpose.models.covariance import (
    ConstantCovariance,
    CovarianceParameterisation,
    ResidualAnchor,
)
from hetpose.models.objectives import Objective
from hetpose.models.phase import (
    find_switchable,
    require_part,
)
from hetpose.ops import moments
from hetpose.ops.moments import pair_sums

CHUNK = 4096  # samples per forward pass
FEW = 10  # samples for each dimension
RESIDUALS_KEY = 'residual_covariance'


class SecondMoment:
    """Running E[r rᵀ] (d, d) over pairs of present targets, shrunk where there are few of them."""

    def __init__(self) -> None:
        self.total: Tensor | None = None
        self.count: Tensor | None = None

    def add(self, residual: Tensor, mask: Tensor | None = None) -> None:
        """Add residuals (B, d), with a mask (B, d) that is True where the target is present."""
        total, count = pair_sums(residual.detach().double(), mask)
        self.total = total if self.total is None else self.total + total
        self.count = count if self.count is None else self.count + count

    def covariance(self) -> Tensor | None:
        """The moment over all processes, or None if nothing was added.

        With fewer than FEW samples for each dimension it is shrunk: twelve people span twelve of
        28 directions, and in the others Σ would start at its floor. With more it is not: where
        targets are nearly collinear, shrinkage would inflate the small eigenvalues many times.
        """
        if self.total is None or self.count is None:
            return None
        all_reduce(self.total)
        all_reduce(self.count)
        few = bool((self.count.diagonal() < FEW * len(self.count)).any())
        return moments.residual_covariance(self.total, self.count, shrink=few).float()


@HOOKS.register_module()
class RefreshAnchorHook(Hook):
    """Set the anchor of AnchoredCovariance and ConstantCovariance from training residuals.

    The residuals are those that the objective saw during the epoch, so no extra pass is needed and
    any model with ``objective`` and ``covariance`` will do. A covariance that a switch brings in
    starts from the residuals of the epoch before. In the last epoch a constant covariance of a
    regressor is estimated from the final mean network in eval mode instead.

    Args:
        interval: epochs between refreshes.
    """

    priority = 'LOW'  # after KeepBestHook, which measures with the anchor of the epoch

    def __init__(self, interval: int = 1) -> None:
        if interval < 1:
            raise ValueError(f'interval must be at least 1, got {interval}')
        self.interval = interval
        self._watched: Objective | None = None

    def before_train(self, runner) -> None:
        require_part(self, runner.model)

    def before_train_epoch(self, runner) -> None:
        part = find_switchable(runner.model)
        anchor = _anchor_of(part.covariance)
        seen = runner.message_hub.get_info(RESIDUALS_KEY, None)
        if anchor is not None and seen is not None and not anchor.is_set:
            anchor.set_anchor(seen.to(anchor.anchor.device))
        if anchor is not None or _switches_to_anchor(runner.hooks):
            self._moment = SecondMoment()
            self._watched = part.objective
            part.objective.observers.append(self._moment.add)

    def after_train_epoch(self, runner) -> None:
        if self._watched is None:
            return
        self._watched.observers.remove(self._moment.add)
        self._watched = None
        part = find_switchable(runner.model)
        covariance = self._moment.covariance()
        last = runner.epoch + 1 == runner.max_epochs
        if last and isinstance(part.covariance, ConstantCovariance) and _is_regressor(part):
            covariance = residual_covariance(part, runner.train_dataloader.dataset)
        if covariance is None:
            return
        runner.message_hub.update_info(RESIDUALS_KEY, covariance)
        due = last or self.every_n_epochs(runner, self.interval)
        anchor = _anchor_of(part.covariance)
        if due and anchor is not None:
            anchor.set_anchor(covariance)


def _switches_to_anchor(hooks: list[Hook]) -> bool:
    """Whether a switch, past or to come, brings in a covariance with an anchor."""
    switches = [s for h in hooks if isinstance(h, ObjectiveSwitchHook) for s in h.switches]
    brought = [MODELS.build(s['covariance']) for s in switches if s.get('covariance')]
    return any(_anchor_of(covariance) is not None for covariance in brought)


def _anchor_of(covariance: CovarianceParameterisation | None) -> ResidualAnchor | None:
    return None if covariance is None else covariance.residual_anchor


def _is_regressor(part: Any) -> bool:
    return hasattr(part, 'distribution')


@torch.no_grad()
def residual_covariance(regressor: Any, dataset: Any) -> Tensor:
    """E[r rᵀ] (d, d) of a regressor in eval mode over a regression data set.

    It is not shrunk: as a constant covariance it is the one of highest likelihood.
    """
    training = regressor.training
    regressor.eval()
    moment = SecondMoment()
    device = next(regressor.parameters()).device
    for start in range(0, len(dataset), CHUNK):
        batch = dataset.arrays.take(slice(start, start + CHUNK))
        mean, _ = regressor.distribution(batch.x.to(device))
        moment.add(batch.y.to(device) - mean)
    regressor.train(training)
    assert moment.total is not None
    return (moment.total / len(dataset)).float()
