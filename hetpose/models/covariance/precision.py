"""The precision Λ = B Bᵀ + floor · I is predicted instead of Σ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from mmpose.registry import MODELS
from torch import Tensor

from hetpose.models.covariance.base import (
    DEFAULT_FLOOR,
    CovarianceParameterisation,
    scaled_identity,
    square,
)
from hetpose.ops.covariance import Covariance
from hetpose.ops.spd import safe_cholesky

if TYPE_CHECKING:
    from hetpose.ops.taylor.terms import TaylorTerms


@MODELS.register_module()
class PrecisionCovariance(CovarianceParameterisation):
    """Σ = (B Bᵀ + precision_floor · I)⁻¹ + floor · I, raw outputs = B (B, d, d).

    Args:
        floor: smallest variance.
        precision_floor: smallest eigenvalue of the predicted precision; its inverse is the largest
            variance.
    """

    def __init__(self, floor: float = DEFAULT_FLOOR, precision_floor: float = 1e-3) -> None:
        super().__init__(floor)
        if not precision_floor > 0:
            raise ValueError(f'precision_floor must be positive, got {precision_floor}')
        self.precision_floor = float(precision_floor)

    def num_outputs(self, dim: int) -> int:
        return dim * dim

    def identity_outputs(self, dim: int) -> Tensor:
        return torch.eye(dim).flatten()

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        half = square(raw, dim)
        precision = half @ half.mT + scaled_identity(raw, dim, self.precision_floor)
        identity = scaled_identity(raw, dim, 1.0)

        def matrix() -> Tensor:
            return (
                torch.cholesky_solve(identity, safe_cholesky(precision, 'precision'))
                + self.floor * identity
            )

        return Covariance(matrix=matrix)
