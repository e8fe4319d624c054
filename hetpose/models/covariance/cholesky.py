"""Σ = L Lᵀ with a positive diagonal of L."""

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
)
from hetpose.ops.covariance import Covariance

if TYPE_CHECKING:
    from hetpose.ops.taylor.terms import TaylorTerms


@MODELS.register_module()
class CholeskyCovariance(CovarianceParameterisation):
    """Σ = L Lᵀ, L lower triangular with diagonal softplus(raw) + √floor.

    The floor bounds every conditional variance Var(y_i | y_1 … y_{i-1}) = L_ii². The Wasserstein
    bound compares the symmetric root, since a triangular factor cannot reach it.
    """

    def num_outputs(self, dim: int) -> int:
        return dim * (dim + 1) // 2

    def identity_outputs(self, dim: int) -> Tensor:
        outputs = torch.zeros(self.num_outputs(dim))
        outputs[:dim] = inverse_softplus(1.0)
        return outputs

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        diagonal, strict = lower_triangle(raw, dim)
        return Covariance(
            scale_tril=strict + torch.diag_embed(softplus(diagonal) + self.floor**0.5)
        )
