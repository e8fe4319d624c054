"""Covariances that start from, or stay at, the covariance of the residuals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from mmpose.registry import MODELS
from torch import Tensor
from torch.nn.functional import softplus

from hetpose.models.covariance.base import (
    DEFAULT_FLOOR,
    CovarianceParameterisation,
    lower_triangle,
    scaled_identity,
)
from hetpose.ops.covariance import Covariance
from hetpose.ops.spd import add_floor, safe_cholesky

if TYPE_CHECKING:
    from hetpose.ops.taylor.terms import TaylorTerms

LEAST_SHARE = 1e-3  # of the floor: what an anchor keeps where the floor is the larger part
SOFTPLUS_ONE = math.log(math.e - 1)  # softplus of it is 1


class ResidualAnchor(CovarianceParameterisation):
    """Holds L0 (d, d), the lower Cholesky factor of the residuals' covariance.

    Args:
        floor: smallest variance that Σ may have.
        initial_std: L0 is initial_std · I until residuals set it. One that is as large as the
            first residuals lets a likelihood start near d · log(initial_std²), not in thousands.
    """

    anchor: Tensor

    def __init__(self, floor: float = DEFAULT_FLOOR, initial_std: float = 1.0) -> None:
        super().__init__(floor)
        if not 0 < initial_std < math.inf:
            raise ValueError(f'initial_std must be positive, got {initial_std}')
        self.initial_std = float(initial_std)
        self.register_buffer('anchor', torch.empty(0, 0))

    @property
    def residual_anchor(self) -> ResidualAnchor | None:
        return self

    def prepare(self, dim: int) -> None:
        if self.anchor.numel() == 0:
            self.anchor = self.initial_std * torch.eye(dim, device=self.anchor.device)

    @torch.no_grad()
    def set_anchor(self, covariance: Tensor) -> None:
        """Take the covariance of residuals (d, d) as the anchor.

        Its eigenvalues are raised: with missing targets an estimate from pairs may be indefinite.
        """
        values, vectors = torch.linalg.eigh(covariance.double())
        values = self.raised(values)
        raised = (vectors * values) @ vectors.mT
        factor = safe_cholesky(raised, 'covariance of the residuals').to(covariance)
        # In the order of memory that a loaded anchor has: products then round alike.
        self.anchor = factor.contiguous()

    @property
    def is_set(self) -> bool:
        """Whether the anchor is that of residuals; before, it is initial_std · I."""
        dim = len(self.anchor)
        start = self.initial_std * torch.eye(dim)
        return dim > 0 and not torch.equal(self.anchor, start.to(self.anchor))

    def raised(self, eigenvalues: Tensor) -> Tensor:
        """Eigenvalues of the anchor such that Σ starts with max(eigenvalue, floor)."""
        return eigenvalues.clamp(min=self.floor)

    def anchor_like(self, raw: Tensor, dim: int) -> Tensor:
        """L0 (d, d) in the type and on the device of ``raw``."""
        if self.anchor.numel() == 0:
            return self.initial_std * torch.eye(dim, dtype=raw.dtype, device=raw.device)
        if self.anchor.shape[-1] != dim:
            raise ValueError(f'the anchor has dimension {self.anchor.shape[-1]}, the target {dim}')
        return self.anchor.to(raw)

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *args: Any) -> None:
        stored = state_dict.get(f'{prefix}anchor')
        if stored is not None and self.anchor.numel() == 0:
            self.anchor = torch.empty_like(stored, device=self.anchor.device)
        super()._load_from_state_dict(state_dict, prefix, *args)


@MODELS.register_module()
class ConstantCovariance(ResidualAnchor):
    """Σ = L0 L0ᵀ for every input: the homoscedastic model."""

    trainable = False

    def num_outputs(self, dim: int) -> int:
        return 0

    def identity_outputs(self, dim: int) -> Tensor:
        return torch.zeros(0)

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        return Covariance(scale_tril=self.anchor_like(raw, dim).expand(*raw.shape[:-1], dim, dim))


@MODELS.register_module()
class AnchoredCovariance(ResidualAnchor):
    """Σ = L0 M Mᵀ L0ᵀ + floor · I, M lower triangular with diagonal softplus(raw + log(e − 1)).

    Raw outputs of 0 give M = I: a network whose outputs start at 0 starts at the homoscedastic
    solution and only has to learn what varies.
    """

    starts_at_zero = True
    anchored = True

    def raised(self, eigenvalues: Tensor) -> Tensor:
        return (eigenvalues - self.floor).clamp(min=LEAST_SHARE * self.floor)

    def num_outputs(self, dim: int) -> int:
        return dim * (dim + 1) // 2

    def identity_outputs(self, dim: int) -> Tensor:
        return torch.zeros(self.num_outputs(dim))

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        diagonal, strict = lower_triangle(raw, dim)
        varying = strict + torch.diag_embed(softplus(diagonal + SOFTPLUS_ONE))
        anchor = self.anchor_like(raw, dim)
        factor = anchor @ varying
        return Covariance(
            matrix=lambda: factor @ factor.mT + scaled_identity(raw, dim, self.floor),
            factor=lambda: torch.cat([factor, scaled_identity(raw, dim, self.floor**0.5)], dim=-1),
            anchor=add_floor(anchor @ anchor.mT, self.floor),
        )
