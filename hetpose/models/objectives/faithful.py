"""Mean and covariance decoupled."""

from __future__ import annotations

from mmpose.registry import MODELS
from torch import Tensor

from hetpose.models.objectives.base import Objective, squared_norm
from hetpose.ops.covariance import Covariance
from hetpose.ops.gaussian import negative_log_likelihood


@MODELS.register_module()
class FaithfulObjective(Objective):
    """‖r‖² + NLL(stop_grad(r), Σ): the mean learns as by the squared error."""

    decoupled = True

    def per_sample(
        self,
        residual: Tensor,
        covariance: Covariance | None,
        target_root: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        assert covariance is not None
        nll = negative_log_likelihood(
            residual.detach(), mask=mask, scale_tril=covariance.scale_tril
        )
        return squared_norm(residual) + nll
