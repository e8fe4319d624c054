"""Gaussians with full covariance: likelihood, divergence, conditioning, sampling, recalibration.

Every `mask` is (..., d), True = present; a missing dimension is marginalised out, exactly.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from hetpose.ops.affine import scale_covariance
from hetpose.ops.marginal import (
    count_present,
    either_cholesky,
    marginal_cholesky,
    marginal_residual,
    whiten,
)
from hetpose.ops.spd import cholesky_log_determinant, safe_cholesky, to_float64
from hetpose.ops.validation import (
    check_broadcastable,
    check_mask,
    check_not_negative,
    check_square,
    check_vector,
    explain_nan,
    full_precision,
    shape_of,
)

LOG_2PI = math.log(2 * math.pi)


@full_precision
def mahalanobis_squared(
    residual: Tensor,
    covariance: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    scale_tril: Tensor | None = None,
) -> Tensor:
    """rᵀ Σ^-1 r.

    Shapes: residual (..., d), covariance or its Cholesky factor scale_tril (..., d, d) -> (...).
    """
    factor = either_cholesky(covariance, scale_tril, mask)
    residual = marginal_residual(residual, factor.shape[-1], mask)
    return explain_nan(whiten(factor, residual).square().sum(-1), residual=residual)


@full_precision
def negative_log_likelihood(
    residual: Tensor,
    covariance: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    scale_tril: Tensor | None = None,
) -> Tensor:
    """½(d log 2π + log|Σ| + rᵀ Σ^-1 r), d the number of dimensions present.

    Shapes: residual (..., d), covariance or its Cholesky factor scale_tril (..., d, d) -> (...).
    """
    factor = either_cholesky(covariance, scale_tril, mask)
    dim = factor.shape[-1]
    residual = marginal_residual(residual, dim, mask)
    distance = whiten(factor, residual).square().sum(-1)
    constant = count_present(mask, dim, factor) * LOG_2PI
    likelihood = (constant + cholesky_log_determinant(factor) + distance) / 2
    return explain_nan(likelihood, residual=residual)


def _divergence_parts(
    residual: Tensor, factor_p: Tensor, factor_q: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Tr(Λq Σp), rᵀ Λq r and log|Σq| - log|Σp|, each (...), from the Cholesky factors."""
    if factor_p.shape[-1] != factor_q.shape[-1]:
        sizes = f'{factor_p.shape[-1]} and {factor_q.shape[-1]}'
        raise ValueError(f'covariances: expected the same size, got {sizes}')
    check_broadcastable(residual=residual.shape[:-1], p=factor_p.shape[:-2], q=factor_q.shape[:-2])
    ratio = torch.linalg.solve_triangular(factor_q, factor_p, upper=False)
    trace = ratio.square().sum((-2, -1))
    distance = whiten(factor_q, residual).square().sum(-1)
    # The ratio's own diagonal cancels exactly at p = q, where two log-determinants only nearly do.
    return trace, distance, -cholesky_log_determinant(ratio)


@full_precision
def kl_divergence(
    mean_p: Tensor,
    covariance_p: Tensor,
    mean_q: Tensor,
    covariance_q: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """KL(p ‖ q) = ½[Tr(Λq Σp) + rᵀΛq r - d + log|Σq| - log|Σp|], r the difference of the means.

    Shapes: means (..., d), covariances (..., d, d) -> (...).
    """
    dim = check_square(covariance_p, 'covariance_p')
    check_square(covariance_q, 'covariance_q')
    check_vector(mean_p, dim, 'mean_p')
    check_vector(mean_q, dim, 'mean_q')
    trace, distance, log_ratio = _divergence_parts(
        marginal_residual(mean_p - mean_q, dim, mask),
        marginal_cholesky(covariance_p, mask, 'covariance_p'),
        marginal_cholesky(covariance_q, mask, 'covariance_q'),
    )
    # Masked dimensions add 1 each to the trace: subtract all of d, not the number present.
    divergence = (trace - dim + distance + log_ratio) / 2
    return explain_nan(divergence, mean_p=mean_p, mean_q=mean_q)


@full_precision
def calibrated_kl(
    residual: Tensor, covariance: Tensor, target_covariance: Tensor, mask: Tensor | None = None
) -> Tensor:
    """½[(Tr(ΛΣ̃) + rᵀΛr)/2 - d + log|Σ| - log|Σ̃|]: the optimum is the average of Σ̃ and rrᵀ.

    Shapes: residual (..., d), covariance and target_covariance (..., d, d) -> (...).
    """
    dim = check_square(covariance, 'covariance')
    trace, distance, log_ratio = _divergence_parts(
        marginal_residual(residual, dim, mask),
        marginal_cholesky(target_covariance, mask, 'target_covariance'),
        marginal_cholesky(covariance, mask),
    )
    present = count_present(mask, dim, residual)
    divergence = ((trace - (dim - present) + distance) / 2 - present + log_ratio) / 2
    return explain_nan(divergence, residual=residual)


def check_index(
    index: Sequence[int] | Tensor, dim: int, name: str, device: torch.device
) -> Tensor:
    """Different dimensions of 0..d-1 as numbers (n,), from numbers or from booleans (d,)."""
    indices = torch.as_tensor(index, device=device)
    if indices.dtype == torch.bool:
        check_mask(indices, dim, name)
        indices = indices.nonzero()[:, 0]
    if indices.ndim != 1 or (indices.numel() and indices.is_floating_point()):
        raise ValueError(f'{name}: expected a list of dimensions, got {index}')
    indices = indices.long()
    if ((indices < 0) | (indices >= dim)).any() or indices.unique().numel() != indices.numel():
        raise ValueError(
            f'{name}: expected different numbers in 0..{dim - 1}, got {indices.tolist()}'
        )
    return indices


@full_precision
def condition(
    mean: Tensor,
    covariance: Tensor,
    index: Sequence[int] | Tensor,
    values: Sequence[float] | Tensor,
    query: Sequence[int] | Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and covariance of y[query] given y[index] = values; the covariance in float64.

    μq + Σqo Σoo^-1 (v - μo) and Σqq - Σqo Σoo^-1 Σoq; query defaults to the rest, in order. The
    difference is the lower right block of the Cholesky factor times its transpose, which has no
    negative eigenvalue where the subtraction would cancel.

    Shapes: mean (..., d), covariance (..., d, d), index (o,), values (..., o)
    -> (..., q), (..., q, q).
    """
    dim = check_square(covariance, 'covariance')
    check_vector(mean, dim, 'mean')
    given = check_index(index, dim, 'index', covariance.device)
    values = torch.as_tensor(values, dtype=mean.dtype, device=mean.device)
    check_vector(values, given.numel(), 'values')
    rest = torch.ones(dim, dtype=torch.bool, device=covariance.device)
    rest[given] = False
    wanted = check_index(rest if query is None else query, dim, 'query', covariance.device)
    if not rest[wanted].all():
        raise ValueError('query: holds a dimension that index already gives a value')
    order = torch.cat([given, wanted])
    chosen = to_float64(covariance[..., order, :][..., order])
    factor = safe_cholesky(chosen)  # rows: the given, then the wanted
    known = given.numel()
    shift = whiten(factor[..., :known, :known], (values - mean[..., given]).double())
    moved = (factor[..., known:, :known] @ shift[..., None])[..., 0].to(mean)
    remaining = factor[..., known:, known:]
    mean_rest = explain_nan(mean[..., wanted] + moved, mean=mean, values=values)
    return mean_rest, to_float64(remaining @ remaining.mT)


@full_precision
def conditional_residual(
    residual: Tensor, covariance: Tensor, block: int = 1, mask: Tensor | None = None
) -> Tensor:
    """y_B - E[y_B | all other y] = (Λ_BB)^-1 (Λr)_B for every block B at once; 0 where missing.

    Shapes: residual (..., d), covariance (..., d, d) -> (..., d) for block 1,
    else (..., d / block, block).
    """
    dim = check_square(covariance, 'covariance')
    if block < 1 or dim % block:
        raise ValueError(f'block: expected a divisor of {dim}, got {block}')
    factor = marginal_cholesky(covariance, mask)
    residual = marginal_residual(residual, dim, mask)
    check_broadcastable(residual=residual.shape[:-1], covariance=factor.shape[:-2])
    identity = torch.eye(dim, dtype=factor.dtype, device=factor.device)
    # Λ = RᵀR with R = L^-1, so that Λ_BB needs the columns R_B alone.
    inverse = torch.linalg.solve_triangular(factor, identity, upper=False)
    weighted = (inverse.mT @ (inverse @ residual[..., None]))[..., 0]
    explain_nan(weighted.detach(), residual=residual)
    if block == 1:
        return weighted / inverse.square().sum(-2)
    columns = inverse.unflatten(-1, (-1, block)).transpose(-3, -2)
    weighted = weighted.unflatten(-1, (-1, block))
    return torch.cholesky_solve(weighted[..., None], safe_cholesky(columns.mT @ columns))[..., 0]


@full_precision
def tac(
    residual: Tensor, covariance: Tensor, block: int = 1, mask: Tensor | None = None
) -> Tensor:
    """Mean length of the conditional residuals of the blocks present (0 if none is).

    Shapes: residual (..., d), covariance (..., d, d) -> (...).
    """
    conditional = conditional_residual(residual, covariance, block, mask)
    length = conditional.abs() if block == 1 else torch.linalg.vector_norm(conditional, dim=-1)
    if mask is None:
        return length.mean(-1)
    present = mask.unflatten(-1, (-1, block)).any(-1).sum(-1)
    return length.sum(-1) / present.clamp(min=1)


@full_precision
def sample(
    mean: Tensor, covariance: Tensor, count: int, generator: torch.Generator | None = None
) -> Tensor:
    """Draws μ + Lε. Shapes: mean (..., d), covariance (..., d, d) -> (count, ..., d)."""
    dim = check_square(covariance, 'covariance')
    check_vector(mean, dim, 'mean')
    if count < 0:
        raise ValueError(f'count: expected >= 0, got {count}')
    batch = check_broadcastable(mean=mean.shape[:-1], covariance=covariance.shape[:-2])
    factor = safe_cholesky(covariance)
    noise = torch.randn(
        count, *batch, dim, dtype=factor.dtype, device=factor.device, generator=generator
    )
    return mean + torch.einsum('...ij,n...j->n...i', factor, noise)


def _per_dimension(value: float | Tensor, dim: int, name: str, like: Tensor) -> Tensor:
    tensor = torch.as_tensor(value, dtype=like.dtype, device=like.device)
    check_not_negative(tensor, name)
    if tensor.ndim == 0 or tensor.shape[-1] in (1, dim):
        return tensor
    if 2 * tensor.shape[-1] != dim:
        raise ValueError(
            f'{name}: expected a scalar, ({dim},) or one per joint ({dim // 2},), '
            f'got {shape_of(tensor)}'
        )
    return tensor.repeat_interleave(2, dim=-1)


@full_precision
def recalibrate(covariance: Tensor, alpha: float | Tensor, beta: float | Tensor = 0.0) -> Tensor:
    """αΣ + βI; per dimension or per joint D^½ Σ D^½ + diag(β) with D = diag(α).

    Shapes: covariance (..., d, d), alpha and beta scalar, (d,) or (d / 2,) -> (..., d, d).
    """
    dim = check_square(covariance, 'covariance')
    scale = _per_dimension(alpha, dim, 'alpha', covariance)
    shift = _per_dimension(beta, dim, 'beta', covariance)
    if scale.ndim == 0:
        scaled = scale * covariance
    else:
        scaled = scale_covariance(covariance, scale.sqrt().expand(*scale.shape[:-1], dim))
    if shift.ndim == 0:
        shift = shift[None]
    return scaled + torch.diag_embed(shift.expand(*shift.shape[:-1], dim))
