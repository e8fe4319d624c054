"""Squared error of the mean."""

from __future__ import annotations

from mmpose.registry import MODELS
from torch import Tensor

from hetpose.models.objectives.base import Objective, squared_norm
from hetpose.ops.covariance import Covariance


@MODELS.register_module()
class MSEObjective(Objective):
    """‖r‖²: trains the mean only."""

    trains_covariance = False

    def per_sample(
        self,
        residual: Tensor,
        covariance: Covariance | None,
        target_root: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        return squared_norm(residual)
