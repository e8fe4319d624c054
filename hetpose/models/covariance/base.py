"""The interface of covariance parameterisations.

Axes: B batch, d targets, m inputs of the mean network.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from hetpose.ops.covariance import Covariance

if TYPE_CHECKING:
    from hetpose.models.covariance.anchored import ResidualAnchor
    from hetpose.ops.taylor.terms import TaylorTerms

# The smallest variance, in squared units of the target; every config states its own.
DEFAULT_FLOOR = 1e-3


class CovarianceParameterisation(nn.Module, ABC):
    """Map raw network outputs to a positive definite Σ.

    Args:
        floor: smallest variance that Σ may have. Without one the Wasserstein bound lets the
            smallest eigenvalues collapse, and the likelihood of held-out data explodes.
    """

    taylor_order: str | None = None
    """Which Taylor terms of the mean network ``forward`` needs: None, 'gradient' or 'full'."""
    diagonal: bool = False
    """Whether Σ is diagonal whatever the outputs are."""
    trainable: bool = True
    """Whether an objective can shape Σ through the raw outputs."""
    only_dim: int | None = None
    """The one target dimension that it is defined for, or None."""
    starts_at_zero: bool = False
    """Whether the network's raw outputs should be 0 before training."""
    anchored: bool = False
    """Whether Σ varies around one covariance for all inputs, which it names as its anchor."""
    relocates: bool = False
    """Whether ``location`` is not the identity."""
    heavy_tailed: bool = False
    """Whether Σ is the covariance of a Student-t, whose degrees of freedom it carries."""

    def __init__(self, floor: float = DEFAULT_FLOOR) -> None:
        super().__init__()
        if not floor > 0:
            raise ValueError(f'floor must be positive, got {floor}')
        self.floor = float(floor)

    @abstractmethod
    def num_outputs(self, dim: int) -> int:
        """The number of raw outputs that a d-dimensional target needs."""

    @abstractmethod
    def identity_outputs(self, dim: int) -> Tensor:
        """Raw outputs (num_outputs,) whose Σ is the identity, up to the floor."""

    @abstractmethod
    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        """Σ from raw outputs (B, num_outputs) in float32 or float64."""

    def forward(self, raw: Tensor, dim: int, taylor: TaylorTerms | None = None) -> Covariance:
        """Σ (B, d, d) from raw outputs (B, num_outputs), outside autocast."""
        expected = self.num_outputs(dim)
        if raw.shape[-1] != expected:
            raise ValueError(
                f'{type(self).__name__} needs {expected} raw outputs for dimension {dim}, '
                f'got {raw.shape[-1]}'
            )
        if self.taylor_order is not None and taylor is None:
            raise ValueError(f'{type(self).__name__} needs the Taylor terms of the mean network')
        with torch.autocast(device_type=raw.device.type, enabled=False):
            return self.build(raw if raw.dtype == torch.float64 else raw.float(), dim, taylor)

    def location(self, raw_mean: Tensor, covariance: Covariance) -> Tensor:
        """The mean (B, d) from the mean network's output (B, d)."""
        return raw_mean

    @property
    def meaning(self) -> tuple:
        """Values that decide how raw outputs are read: equal ones can share their weights."""
        return type(self).__name__, self.taylor_order

    @property
    def residual_anchor(self) -> ResidualAnchor | None:
        """The part that holds the covariance of the residuals, if one does."""
        return None

    def prepare(self, dim: int) -> None:
        """Size the buffers for d targets, so that a checkpoint fits before it is read."""

    def check_dim(self, dim: int) -> None:
        """Refuse a target dimension that the parameterisation is not defined for."""
        if self.only_dim is not None and dim != self.only_dim:
            raise ValueError(
                f'{type(self).__name__} is defined for dimension {self.only_dim} only, got {dim}'
            )

    def check_outputs(self, dim: int, available: int) -> None:
        """Refuse a network that was built with fewer outputs than the parameterisation reads."""
        needed = self.num_outputs(dim)
        if needed > available:
            raise ValueError(
                f'{type(self).__name__} needs {needed} outputs of a network with {available}: '
                f'build the model with covariance_outputs={needed}'
            )


def square(raw: Tensor, dim: int) -> Tensor:
    """Raw outputs (..., d²) as a matrix (..., d, d)."""
    return raw.unflatten(-1, (dim, dim))


def lower_triangle(raw: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Raw outputs (..., d(d+1)/2) as a diagonal (..., d) and a strict triangle (..., d, d)."""
    diagonal, rest = raw[..., :dim], raw[..., dim:]
    rows, columns = torch.tril_indices(dim, dim, offset=-1, device=raw.device)
    strict = raw.new_zeros(*raw.shape[:-1], dim, dim)
    strict[..., rows, columns] = rest
    return diagonal, strict


def inverse_softplus(value: float) -> float:
    """The x with softplus(x) = value > 0."""
    return value + math.log(-math.expm1(-value))


def scaled_identity(like: Tensor, dim: int, value: float) -> Tensor:
    """value · I with the batch shape, type and device of ``like`` (..., n): (..., d, d)."""
    identity = torch.eye(dim, dtype=like.dtype, device=like.device) * value
    return identity.expand(*like.shape[:-1], dim, dim)
