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
    from hetpose.ops.taylor import TaylorTerms

SOFTPLUS_ONE = math.log(math.e - 1)  # softplus of it is 1


class ResidualAnchor(CovarianceParameterisation):
    """Holds L0 (d, d), the lower Cholesky factor of the residuals' covariance; I until set."""

    anchor: Tensor

    def __init__(self, floor: float = DEFAULT_FLOOR) -> None:
        super().__init__(floor)
        self.register_buffer('anchor', torch.empty(0, 0))

    @torch.no_grad()
    def set_anchor(self, covariance: Tensor) -> None:
        """Take the covariance of residuals (d, d), raised by the floor, as the anchor."""
        self.anchor = safe_cholesky(
            add_floor(covariance, self.floor), 'covariance of the residuals'
        )

    def anchor_like(self, raw: Tensor, dim: int) -> Tensor:
        """L0 (d, d) in the type and on the device of ``raw``."""
        if self.anchor.numel() == 0:
            return torch.eye(dim, dtype=raw.dtype, device=raw.device)
        if self.anchor.shape[-1] != dim:
            raise ValueError(f'the anchor has dimension {self.anchor.shape[-1]}, the target {dim}')
        return self.anchor.to(raw)

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *args: Any) -> None:
        stored = state_dict.get(f'{prefix}anchor')
        if stored is not None and stored.shape != self.anchor.shape:
            self.anchor = torch.empty_like(stored, device=self.anchor.device)
        super()._load_from_state_dict(state_dict, prefix, *args)


@MODELS.register_module()
class ConstantCovariance(ResidualAnchor):
    """Σ = L0 L0ᵀ for every input: the homoscedastic model."""

    trainable = False

    def num_outputs(self, dim: int) -> int:
        return 0

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        return Covariance(scale_tril=self.anchor_like(raw, dim).expand(*raw.shape[:-1], dim, dim))


@MODELS.register_module()
class AnchoredCovariance(ResidualAnchor):
    """Σ = L0 M Mᵀ L0ᵀ + floor · I, M lower triangular with diagonal softplus(raw + log(e − 1)).

    M starts at the identity, so training the covariance starts at the homoscedastic solution: the
    raw outputs are multiplied by a gain that rises from 0 to 1 over the first training steps. A
    gain leaves the network's initial weights as every other method has them, which a zeroed last
    layer would not.

    Args:
        floor: smallest variance.
        ramp: number of training steps until the gain is 1.
    """

    step: Tensor

    def __init__(self, floor: float = DEFAULT_FLOOR, ramp: int = 200) -> None:
        super().__init__(floor)
        if ramp < 0:
            raise ValueError(f'ramp must not be negative, got {ramp}')
        self.ramp = ramp
        self.register_buffer('step', torch.zeros((), dtype=torch.long))

    def num_outputs(self, dim: int) -> int:
        return dim * (dim + 1) // 2

    @property
    def gain(self) -> float:
        """What the raw outputs are multiplied by."""
        return 1.0 if self.ramp == 0 else min(1.0, int(self.step) / self.ramp)

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        diagonal, strict = lower_triangle(raw * self.gain, dim)
        if self.training and torch.is_grad_enabled():
            self.step += 1
        varying = strict + torch.diag_embed(softplus(diagonal + SOFTPLUS_ONE))
        factor = self.anchor_like(raw, dim) @ varying
        return Covariance(
            matrix=lambda: factor @ factor.mT + scaled_identity(raw, dim, self.floor),
            factor=lambda: torch.cat([factor, scaled_identity(raw, dim, self.floor**0.5)], dim=-1),
        )
