"""An anchored covariance with few outputs, for many joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from mmpose.registry import MODELS
from torch import Tensor
from torch.nn.functional import softplus

from hetpose.models.covariance.anchored import SOFTPLUS_ONE, ResidualAnchor
from hetpose.models.covariance.base import DEFAULT_FLOOR
from hetpose.ops.covariance import Covariance
from hetpose.ops.low_rank import LowRankCovariance

if TYPE_CHECKING:
    from hetpose.ops.taylor.terms import TaylorTerms

LEAST_DIAGONAL = 0.02  # what D keeps of the anchor, however small the outputs
START = 0.5  # of the directions, on one coordinate each


@MODELS.register_module()
class LowRankAnchoredCovariance(ResidualAnchor):
    """Σ = L0 (D + U Uᵀ) L0ᵀ with D diagonal and U (d, rank): d · (rank + 1) outputs.

    Raw outputs of 0 give Σ = L0 L0ᵀ. There D + U Uᵀ = I with U not 0, where it would have no
    gradient: column j of U starts at ½ on a coordinate of its own, and D is smaller there.
    AnchoredCovariance has d (d + 1) / 2 outputs, of which 266 dimensions make 35,511; rank 8 makes
    2,394. With rank 0 and a diagonal anchor Σ is diagonal.

    D stays above a fiftieth of its start, and the anchor's eigenvalues are raised so that Σ then
    stays above the floor.

    Args:
        rank: directions in which the errors of a person may differ from the anchor's together.
        floor: smallest variance.
    """

    starts_at_zero = True
    anchored = True

    def __init__(self, rank: int = 8, floor: float = DEFAULT_FLOOR) -> None:
        super().__init__(floor)
        if rank < 0:
            raise ValueError(f'rank must not be negative, got {rank}')
        self.rank = rank

    def raised(self, eigenvalues: Tensor) -> Tensor:
        return eigenvalues.clamp(min=self.floor / (LEAST_DIAGONAL * (1 - START**2)))

    def num_outputs(self, dim: int) -> int:
        return dim * (1 + min(self.rank, dim))

    def identity_outputs(self, dim: int) -> Tensor:
        return torch.zeros(self.num_outputs(dim))

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        rank = min(self.rank, dim)
        columns = torch.arange(rank, device=raw.device)
        rows = columns * dim // max(rank, 1)  # the coordinates that the directions start on
        start = raw.new_zeros(dim, rank)
        start[rows, columns] = START
        diagonal = LEAST_DIAGONAL + (1 - LEAST_DIAGONAL) * softplus(raw[..., :dim] + SOFTPLUS_ONE)
        diagonal = diagonal * (1 - start.square().sum(-1))
        directions = start + raw[..., dim:].unflatten(-1, (dim, rank))
        return LowRankCovariance(self.anchor_like(raw, dim), diagonal, directions)
