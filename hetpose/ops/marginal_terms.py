"""The terms of likelihoods and divergences of a marginal, by one factorisation.

A likelihood with missing targets and a prior around an anchor read log|Σ|, rᵀΣ^-1r and tr(Σ^-1A)
of the same marginal. Together they take one Cholesky factor, and their gradient, which is known in
closed form, takes three products.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hetpose.ops.spd import cholesky_log_determinant, mask_matrix, safe_cholesky
from hetpose.ops.validation import check_mask, check_square, check_vector


class MarginalTerms(NamedTuple):
    """Terms of the n dimensions that are present, each (...), in float64."""

    dims: Tensor  # n
    log_determinant: Tensor  # log|Σ|
    distance: Tensor  # rᵀ Σ^-1 r
    trace: Tensor  # tr(Σ^-1 A)
    reference: Tensor  # log|A|

    @property
    def divergence(self) -> Tensor:
        """KL(N(0, A) ‖ N(0, Σ)), (...)."""
        return (self.trace - self.dims + self.log_determinant - self.reference) / 2


class _Terms(torch.autograd.Function):
    """(Σ, r, A) → (log|Σ|, rᵀΣ^-1r, tr(Σ^-1A)); A is a constant.

    With P = Σ^-1 the gradient of Σ is g₁P − g₂ (Pr)(Pr)ᵀ − g₃ PAP, that of r is 2g₂ Pr.
    """

    @staticmethod
    def forward(
        ctx: Any, matrix: Tensor, residual: Tensor, reference: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        factor = safe_cholesky(matrix)
        identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
        white = torch.linalg.solve_triangular(factor, identity.expand_as(matrix), upper=False)
        ctx.save_for_backward(white, residual, reference)
        distance = (white @ residual[..., None])[..., 0].square().sum(-1)
        trace = ((white @ reference) * white).sum((-2, -1))
        return cholesky_log_determinant(factor), distance, trace

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        white, residual, reference = ctx.saved_tensors
        logarithm, distance, trace = (g[..., None, None] for g in gradients)
        precision = white.mT @ white
        solved = precision @ residual[..., None]
        gradient = logarithm * precision - distance * (solved @ solved.mT)
        gradient = gradient - trace * (precision @ reference @ precision)
        return gradient, 2 * (distance * solved)[..., 0], None


def marginal_terms(
    factor: Tensor, residual: Tensor, reference: Tensor, mask: Tensor
) -> MarginalTerms:
    """The terms of Σ = F Fᵀ, formed and factored in float64; A has no gradient.

    Shapes: factor F (..., d, m), residual (..., d), reference A (d, d), mask (..., d), True =
    present.
    """
    dim = factor.shape[-2]
    check_square(reference, 'reference')
    check_vector(residual, dim, 'residual')
    check_mask(mask, dim)
    with torch.autocast(factor.device.type, enabled=False):
        wide = factor.double()
        matrix = mask_matrix(wide @ wide.mT, mask)
        both = mask[..., :, None] & mask[..., None, :]
        present = torch.where(mask, residual.double(), 0.0)
        constant = reference.detach().double()
        logarithm, distance, trace = _Terms.apply(
            matrix, present, torch.where(both, constant, 0.0)
        )
        known = safe_cholesky(mask_matrix(constant, mask), 'reference')
    count, volume = mask.sum(-1).double(), cholesky_log_determinant(known)
    return MarginalTerms(count, logarithm, distance, trace, volume)
