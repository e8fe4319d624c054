"""The symmetric root Σ^½ is predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from mmpose.registry import MODELS
from torch import Tensor

from hetpose.models.covariance.base import CovarianceParameterisation, scaled_identity, square
from hetpose.ops.covariance import Covariance

if TYPE_CHECKING:
    from hetpose.ops.taylor.terms import TaylorTerms


@MODELS.register_module()
class RootCovariance(CovarianceParameterisation):
    """Σ = S², S = A Aᵀ + √floor · I symmetric, raw outputs = A (B, d, d)."""

    def num_outputs(self, dim: int) -> int:
        return dim * dim

    def identity_outputs(self, dim: int) -> Tensor:
        return torch.eye(dim).flatten()

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        half = square(raw, dim)
        root = half @ half.mT + scaled_identity(raw, dim, self.floor**0.5)
        return Covariance(factor=root, root=root)
