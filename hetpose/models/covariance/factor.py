"""Σ = A Aᵀ + floor · I with a full factor A."""

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
class FactorCovariance(CovarianceParameterisation):
    """Σ = A Aᵀ + floor · I, raw outputs = A (B, d, d).

    A is also the root that the Wasserstein bound compares: the bound holds for any factor.
    """

    def num_outputs(self, dim: int) -> int:
        return dim * dim

    def identity_outputs(self, dim: int) -> Tensor:
        return torch.eye(dim).flatten()

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        root = square(raw, dim)
        return Covariance(
            matrix=lambda: root @ root.mT + scaled_identity(raw, dim, self.floor),
            factor=lambda: torch.cat([root, scaled_identity(raw, dim, self.floor**0.5)], dim=-1),
            root=root,
        )
