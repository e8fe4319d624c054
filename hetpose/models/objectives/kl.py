"""Kullback-Leibler divergence from a target Gaussian."""

from __future__ import annotations

import torch
from mmpose.registry import MODELS
from torch import Tensor

from hetpose.models.objectives.base import Objective
from hetpose.ops.covariance import Covariance
from hetpose.ops.gaussian import calibrated_kl, kl_divergence
from hetpose.ops.spd import add_floor


@MODELS.register_module()
class KLObjective(Objective):
    """½[Tr(ΛΣ̃) + rᵀΛr − d + log|Σ| − log|Σ̃|]; calibrated halves Tr(ΛΣ̃) + rᵀΛr.

    Args:
        calibrated: the optimum is the mean of Σ̃ and the residuals' covariance, not their sum.
        target_floor: added to the variances of Σ̃, whose determinant is 0 where neighbours agree.
    """

    needs_target_covariance = True

    def __init__(self, calibrated: bool = True, target_floor: float = 1e-4) -> None:
        super().__init__()
        if not target_floor > 0:
            raise ValueError(f'target_floor must be positive, got {target_floor}')
        self.calibrated = calibrated
        self.target_floor = target_floor

    def per_sample(
        self,
        residual: Tensor,
        covariance: Covariance | None,
        target_root: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        assert covariance is not None
        assert target_root is not None
        target = add_floor(target_root @ target_root.mT, self.target_floor)
        if self.calibrated:
            return calibrated_kl(residual, covariance.matrix, target, mask=mask)
        zero = torch.zeros_like(residual)
        return kl_divergence(residual, target, zero, covariance.matrix, mask=mask)
