"""Squared 2-Wasserstein distance between Gaussians."""

from __future__ import annotations

from mmpose.registry import MODELS
from torch import Tensor

from hetpose.models.objectives.base import Objective
from hetpose.ops.covariance import Covariance
from hetpose.ops.wasserstein import w2_squared


@MODELS.register_module()
class W2Objective(Objective):
    """‖r‖² + Tr[Σ + Σ̃ − 2(Σ̃^½ Σ Σ̃^½)^½], exact, without a root of Σ."""

    needs_target_covariance = True
    decoupled = True

    def per_sample(
        self,
        residual: Tensor,
        covariance: Covariance | None,
        target_root: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        assert covariance is not None
        assert target_root is not None
        return w2_squared(covariance.factor, target_root, residual=residual, mask=mask)
