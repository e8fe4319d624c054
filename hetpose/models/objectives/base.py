"""The interface of training objectives.

Axes: B batch, d targets. r = target − mean, Σ the predicted and Σ̃ the target covariance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from hetpose.models.covariance.base import CovarianceParameterisation
from hetpose.ops.covariance import Covariance


class Objective(nn.Module, ABC):
    """One loss value per sample."""

    needs_target_covariance: bool = False
    """Whether Σ̃ must be given, as its symmetric root."""
    trains_covariance: bool = True
    """Whether the loss depends on Σ."""
    decoupled: bool = False
    """Whether the loss is ‖r‖² plus a part whose gradient does not reach the mean."""
    needs_diagonal: bool = False
    """Whether the loss is defined for a diagonal Σ only."""
    heavy_tailed: bool = False
    """Whether the loss reads and trains the degrees of freedom of a Student-t."""

    def __init__(self) -> None:
        super().__init__()
        self.observers: list[Callable[[Tensor, Tensor | None], None]] = []
        """Called in training with the residuals (..., d) and the mask of every batch."""

    @abstractmethod
    def per_sample(
        self,
        residual: Tensor,
        covariance: Covariance | None,
        target_root: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        """The loss (B,) of residuals (B, d) that are 0 where the target is missing."""

    def forward(
        self,
        mean: Tensor,
        target: Tensor,
        covariance: Covariance | None,
        target_root: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """The loss per sample, (B,), outside autocast.

        Args:
            mean, target: (B, d).
            covariance: Σ, or None for an objective that does not read it.
            target_root: symmetric root of Σ̃, (B, d, d).
            mask: (B, d) bool, True where the target is present.
        """
        loss = self.evaluate(mean, target, covariance, target_root, mask)
        if self.observers:
            self.tell((target - mean).detach(), mask)
        return loss

    def tell(self, residual: Tensor, mask: Tensor | None) -> None:
        """Let the observers hear of residuals (..., d) that were trained on."""
        if self.training:
            for observer in self.observers:
                observer(residual, mask)

    def evaluate(
        self,
        mean: Tensor,
        target: Tensor,
        covariance: Covariance | None,
        target_root: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """The loss per sample as of ``forward``, which no observer hears of.

        More axes may stand before that of the batch.
        """
        if self.trains_covariance and covariance is None:
            raise ValueError(f'{type(self).__name__} needs a covariance')
        if self.needs_target_covariance and target_root is None:
            raise ValueError(
                f'{type(self).__name__} needs target_root, the root of a target covariance'
            )
        with torch.autocast(device_type=mean.device.type, enabled=False):
            mean = mean if mean.dtype == torch.float64 else mean.float()
            residual = target.to(mean) - mean
            if mask is not None:
                residual = torch.where(mask, residual, torch.zeros_like(residual))
            if target_root is not None:
                target_root = target_root.to(mean)
            return self.per_sample(residual, covariance, target_root, mask)

    def check(
        self, parameterisation: CovarianceParameterisation | None, dim: int | None = None
    ) -> None:
        """Refuse, when a model is built, a parameterisation that does not go with the loss."""
        mine = type(self).__name__
        if parameterisation is None:
            if self.trains_covariance:
                raise ValueError(f'{mine} needs a covariance parameterisation, got None')
            return
        theirs = type(parameterisation).__name__
        if self.trains_covariance and not parameterisation.trainable:
            raise ValueError(
                f'{mine} trains a covariance and {theirs} has nothing to train: use MSEObjective'
            )
        if not self.trains_covariance and parameterisation.trainable:
            raise ValueError(
                f'{mine} never trains {theirs}: use covariance=None or ConstantCovariance'
            )
        if self.needs_diagonal and not parameterisation.diagonal:
            raise ValueError(f'{mine} is defined for a diagonal covariance only, got {theirs}')
        if self.heavy_tailed and not parameterisation.heavy_tailed:
            raise ValueError(
                f'{mine} needs degrees of freedom, which {theirs} has none of: use '
                f"dict(type='StudentCovariance', scale=dict(type='{theirs}', ...))"
            )
        if parameterisation.heavy_tailed and not self.heavy_tailed:
            raise ValueError(
                f'{theirs} is heavy-tailed and {mine} is not: use StudentNLLObjective'
            )
        if dim is not None:
            parameterisation.check_dim(dim)


def trains_mean_alone(objective: Objective | type[Objective]) -> bool:
    """Whether the gradient of the mean is that of ‖r‖², whatever the covariance is."""
    return objective.decoupled or not objective.trains_covariance


def squared_norm(residual: Tensor) -> Tensor:
    """‖r‖² of residuals (..., d): (...)."""
    return residual.square().sum(-1)
