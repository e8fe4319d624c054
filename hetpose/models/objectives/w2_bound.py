"""Upper bound of the squared 2-Wasserstein distance."""

from __future__ import annotations

from mmpose.registry import MODELS
from torch import Tensor

from hetpose.models.objectives.base import Objective
from hetpose.ops.covariance import Covariance
from hetpose.ops.wasserstein import w2_squared_bound


@MODELS.register_module()
class W2BoundObjective(Objective):
    """‖r‖² + ‖R − Σ̃^½‖²_F with R the predicted root; rows of missing targets are left out."""

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
        return w2_squared_bound(covariance.root, target_root, residual=residual, mask=mask)
