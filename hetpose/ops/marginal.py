"""Marginal Gaussians by masks: True = present, a missing dimension is integrated out exactly."""

import torch
from torch import Tensor

from hetpose.ops.spd import mask_matrix, safe_cholesky
from hetpose.ops.validation import check_broadcastable, check_mask, check_square, check_vector


def marginal_cholesky(covariance: Tensor, mask: Tensor | None, name: str = 'covariance') -> Tensor:
    """Cholesky factor of the covariance, of its marginal where a mask is given."""
    dim = check_square(covariance, name)
    if mask is not None:
        check_mask(mask, dim)
        covariance = mask_matrix(covariance, mask)
    return safe_cholesky(covariance, name)


def either_cholesky(
    covariance: Tensor | None, scale_tril: Tensor | None, mask: Tensor | None
) -> Tensor:
    """The same, from whichever of the two was given.

    Rows of a factor are a factor of the marginal, but no longer triangular. QR makes them so
    again: F = [rows, missing] and Fᵀ = QR give FFᵀ = RᵀR, and no product squares what L resolves.
    """
    if covariance is not None and scale_tril is None:
        return marginal_cholesky(covariance, mask)
    if scale_tril is None or covariance is not None:
        raise ValueError('covariance, scale_tril: expected exactly one of them')
    dim = check_square(scale_tril, 'scale_tril')
    if not (scale_tril.diagonal(dim1=-2, dim2=-1) > 0).all():
        raise ValueError('scale_tril: expected a positive diagonal')
    if mask is None:
        return scale_tril
    check_mask(mask, dim)
    if mask.all():
        return scale_tril
    rows = torch.where(mask[..., None], scale_tril.tril(), 0.0)
    missing = torch.diag_embed((~mask).to(rows.dtype)).expand_as(rows)
    upper = torch.linalg.qr(torch.cat([rows, missing], dim=-1).mT).R
    sign = torch.where(upper.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).to(upper.dtype)
    return (sign[..., None] * upper).mT


def marginal_residual(residual: Tensor, dim: int, mask: Tensor | None) -> Tensor:
    check_vector(residual, dim, 'residual')
    if mask is None:
        return residual
    check_mask(mask, dim)
    return torch.where(mask, residual, 0.0)


def count_present(mask: Tensor | None, dim: int, like: Tensor) -> int | Tensor:
    """The number of the d dimensions that are present: d, or (...) in the type of ``like``.

    A count in integers would become float32 when it is multiplied by a constant.
    """
    return dim if mask is None else mask.sum(-1).to(like.dtype)


def whiten(scale_tril: Tensor, residual: Tensor) -> Tensor:
    """L^-1 r. Shapes: scale_tril (..., d, d), residual (..., d) -> (..., d)."""
    check_broadcastable(residual=residual.shape[:-1], covariance=scale_tril.shape[:-2])
    extra = residual.ndim + 1 - scale_tril.ndim
    if extra <= 0:
        return torch.linalg.solve_triangular(scale_tril, residual[..., None], upper=False)[..., 0]
    # Leading dimensions that only the residual has become columns: no copies of the factor.
    columns = residual.flatten(0, extra - 1).movedim(0, -1)
    solved = torch.linalg.solve_triangular(scale_tril, columns, upper=False)
    return solved.movedim(-1, 0).unflatten(0, residual.shape[:extra])
