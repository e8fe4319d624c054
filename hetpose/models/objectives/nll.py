"""Gaussian negative log-likelihood."""

from __future__ import annotations

from mmpose.registry import MODELS
from torch import Tensor

from hetpose.models.objectives.base import Objective
from hetpose.ops.covariance import Covariance


@MODELS.register_module()
class NLLObjective(Objective):
    """½(d log 2π + log|Σ| + rᵀΣ⁻¹r); missing targets are marginalised."""

    def per_sample(
        self,
        residual: Tensor,
        covariance: Covariance | None,
        target_root: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        assert covariance is not None
        return covariance.negative_log_likelihood(residual, mask)
