"""Σ = L Lᵀ + floor · I with a positive diagonal of L."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from mmpose.registry import MODELS
from torch import Tensor
from torch.nn.functional import softplus

from hetpose.models.covariance.base import (
    CovarianceParameterisation,
    inverse_softplus,
    lower_triangle,
    scaled_identity,
)
from hetpose.ops.covariance import Covariance

if TYPE_CHECKING:
    from hetpose.ops.taylor.terms import TaylorTerms


@MODELS.register_module()
class CholeskyCovariance(CovarianceParameterisation):
    """Σ = L Lᵀ + floor · I, L lower triangular with diagonal softplus(raw).

    The floor is added to Σ and bounds every eigenvalue; a floor on the diagonal of L would bound
    none. The Wasserstein bound compares the symmetric root, since a triangular factor cannot reach
    it.
    """

    def num_outputs(self, dim: int) -> int:
        return dim * (dim + 1) // 2

    def identity_outputs(self, dim: int) -> Tensor:
        outputs = torch.zeros(self.num_outputs(dim))
        outputs[:dim] = inverse_softplus(1.0)
        return outputs

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        diagonal, strict = lower_triangle(raw, dim)
        lower = strict + torch.diag_embed(softplus(diagonal))
        return Covariance(
            matrix=lambda: lower @ lower.mT + scaled_identity(raw, dim, self.floor),
            factor=lambda: torch.cat([lower, scaled_identity(raw, dim, self.floor**0.5)], dim=-1),
        )
