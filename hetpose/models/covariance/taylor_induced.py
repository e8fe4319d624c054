"""Σ grows where the mean is steep or curved (Taylor-induced covariance)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from mmpose.registry import MODELS
from torch import Tensor
from torch.nn.functional import softplus

from hetpose.models.covariance.base import (
    DEFAULT_FLOOR,
    CovarianceParameterisation,
    scaled_identity,
    square,
)
from hetpose.ops.covariance import Covariance

if TYPE_CHECKING:
    from hetpose.ops.taylor.terms import TaylorTerms

ORDERS = ('gradient', 'full')


@MODELS.register_module()
class TaylorInducedCovariance(CovarianceParameterisation):
    """Σ = ε1 J Jᵀ + ε2 T + A Aᵀ + floor · I.

    J (B, d, m) is the Jacobian of the mean and T_ij = Tr(H_i H_j) the Gram matrix of its Hessians,
    both constants for the gradient; A (d, d) and ε1, ε2 ≥ 0 are predicted per sample. Gradient
    order leaves out ε2.

    Args:
        order: 'gradient' or 'full'.
        floor: smallest variance.
    """

    def __init__(self, order: str = 'full', floor: float = DEFAULT_FLOOR) -> None:
        super().__init__(floor)
        if order not in ORDERS:
            raise ValueError(f'order must be one of {ORDERS}, got {order!r}')
        self.taylor_order = order

    def num_outputs(self, dim: int) -> int:
        return dim * dim + (2 if self.taylor_order == 'full' else 1)

    def identity_outputs(self, dim: int) -> Tensor:
        scales = torch.zeros(self.num_outputs(dim) - dim * dim)
        return torch.cat([torch.eye(dim).flatten(), scales])

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        assert taylor is not None
        taylor = taylor.to(raw)
        root = square(raw[..., : dim * dim], dim)
        scales = softplus(raw[..., dim * dim :])[..., None]  # (B, 1 or 2, 1)
        # The Grams are (d, d) however many inputs there are; the wide factor is built only if it
        # is asked for.
        grams = [taylor.gradient_gram]
        blocks = [taylor.jacobian]
        if self.taylor_order == 'full':
            if taylor.hessian is None:
                raise ValueError("order 'full' needs Taylor terms with Hessians")
            grams.append(taylor.curvature_gram)
            blocks.append(taylor.hessian)

        def matrix() -> Tensor:
            induced = sum(scales[..., [i], :] * gram for i, gram in enumerate(grams))
            return induced + root @ root.mT + scaled_identity(raw, dim, self.floor)

        def factor() -> Tensor:
            induced = [scales[..., [i], :].sqrt() * block for i, block in enumerate(blocks)]
            floor = scaled_identity(raw, dim, self.floor**0.5)
            return torch.cat([*induced, root, floor], dim=-1)

        return Covariance(matrix=matrix, factor=factor)
