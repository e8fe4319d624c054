"""Squared 2-Wasserstein distance between Gaussians, from factors F Fᵀ = Σ of any width."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from hetpose.ops.polar import polar_factor
from hetpose.ops.validation import (
    check_broadcastable,
    check_factor,
    check_mask,
    check_vector,
    explain_nan,
    full_precision,
    shape_of,
)


def _narrow(factor: Tensor) -> tuple[Tensor, Tensor | None]:
    """F = C P with C at most square and the rows of P orthonormal (P is None for the identity)."""
    if factor.shape[-1] <= factor.shape[-2]:
        return factor, None
    rows, lower = torch.linalg.qr(factor.mT)
    return lower.mT, rows.mT


def _unit(factor: Tensor) -> Tensor:
    """Scaled to entries of at most 1, so that a product neither overflows nor vanishes."""
    largest = factor.abs().amax((-2, -1), keepdim=True)
    return factor / largest.clamp(min=torch.finfo(factor.dtype).tiny)


class _Procrustes(torch.autograd.Function):
    """min over orthogonal Q of ‖F - F̃Q‖², with the gradient of the minimiser held fixed.

    By the envelope theorem that gradient, 2(F - F̃Q), is the gradient of the minimum. It
    gives no second derivative: asking for one raises, for it would be wrong without a sign.
    """

    @staticmethod
    def forward(ctx: Any, factor: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        small, rows = _narrow(factor)
        small_target, target_rows = _narrow(target)
        width = max(small.shape[-1], small_target.shape[-1])
        small = pad(small, (0, width - small.shape[-1]))
        small_target = pad(small_target, (0, width - small_target.shape[-1]))
        rotation = polar_factor(_unit(small_target).mT @ _unit(small))
        difference = small - small_target @ rotation
        gradients = []
        if ctx.needs_input_grad[0]:
            gradients.append(_widen(difference, rows, factor.shape[-1]))
        if ctx.needs_input_grad[1]:
            gradients.append(_widen(-difference @ rotation.mT, target_rows, target.shape[-1]))
        ctx.save_for_backward(*gradients)
        return difference.square().sum((-2, -1))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError('w2_squared has no second derivative (create_graph=True)')
        saved = iter(ctx.saved_tensors)
        scale = 2 * grads[0][..., None, None]
        return tuple(scale * next(saved) if needed else None for needed in ctx.needs_input_grad)


def _widen(gradient: Tensor, rows: Tensor | None, width: int) -> Tensor:
    return gradient[..., :width] if rows is None else gradient[..., : rows.shape[-2]] @ rows


def _masked_factors(
    factor: Tensor, target_factor: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    dim = check_factor(factor, 'factor')
    if check_factor(target_factor, 'target_factor') != dim:
        raise ValueError(
            f'target_factor: expected shape (..., {dim}, n), got {shape_of(target_factor)}'
        )
    check_broadcastable(factor=factor.shape[:-2], target_factor=target_factor.shape[:-2])
    if mask is None:
        return factor, target_factor
    check_mask(mask, dim)
    # A subset of the rows of a factor is a factor of the marginal.
    rows = mask[..., None]
    return torch.where(rows, factor, 0.0), torch.where(rows, target_factor, 0.0)


def _mean_term(residual: Tensor | None, dim: int, mask: Tensor | None) -> Tensor | float:
    if residual is None:
        return 0.0
    check_vector(residual, dim, 'residual')
    if mask is not None:
        residual = torch.where(mask, residual, 0.0)
    return residual.square().sum(-1)


@full_precision
def w2_squared(
    factor: Tensor,
    target_factor: Tensor,
    residual: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """‖r‖² + Tr[Σ + Σ̃ - 2(Σ̃^½ΣΣ̃^½)^½] = ‖r‖² + min over orthogonal Q of ‖F - F̃Q‖².

    Exact, for any factors. Nothing is differentiated through the decomposition, so the gradient
    is finite everywhere.

    Shapes: factor (..., d, m), target_factor (..., d, n), residual and mask (..., d) -> (...).
    """
    factor, target_factor = _masked_factors(factor, target_factor, mask)
    batch = torch.broadcast_shapes(factor.shape[:-2], target_factor.shape[:-2])
    factor = factor.expand(*batch, *factor.shape[-2:])
    target_factor = target_factor.expand(*batch, *target_factor.shape[-2:])
    term = _mean_term(residual, factor.shape[-2], mask)
    # Before, not after: the decomposition fails on NaN with a message that names no argument.
    explain_nan(factor.detach().sum(), factor=factor)
    explain_nan(target_factor.detach().sum(), target_factor=target_factor)
    return explain_nan(term + _Procrustes.apply(factor, target_factor), residual=residual)


@full_precision
def w2_squared_bound(
    factor: Tensor,
    target_factor: Tensor,
    residual: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """‖r‖² + ‖F - F̃‖²_F, an upper bound of w2_squared that is tight for commuting symmetric roots.

    Shapes: factor and target_factor (..., d, m), residual (..., d), mask (..., d) -> (...).
    """
    factor, target_factor = _masked_factors(factor, target_factor, mask)
    if factor.shape[-1] != target_factor.shape[-1]:
        raise ValueError(
            f'target_factor: expected {factor.shape[-1]} columns as in factor, '
            f'got {target_factor.shape[-1]}'
        )
    term = _mean_term(residual, factor.shape[-2], mask)
    distance = term + (factor - target_factor).square().sum((-2, -1))
    return explain_nan(distance, factor=factor, target_factor=target_factor, residual=residual)
