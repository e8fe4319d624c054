"""Symmetric positive definite matrices (..., d, d): factor, solve, root, floor, mask, blocks."""

from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from hetpose.ops.validation import (
    SYMMETRY_TOLERANCE,
    check_mask,
    check_not_negative,
    check_square,
    first_item,
    full_precision,
    refuse_bad_items,
    shape_of,
    symmetric_items,
)

Array = TypeVar('Array', np.ndarray, Tensor)
# Jitter is relative to each diagonal entry: it means the same at every scale of every dimension.
JITTER = {torch.bfloat16: 1e-2, torch.float16: 1e-3, torch.float32: 1e-6, torch.float64: 1e-12}
JITTER_GROWTH = 10.0
JITTER_STEPS = 3


class NotPositiveDefiniteError(ValueError):
    """A matrix that should be positive definite is not, beyond what rounding explains."""

    def __init__(self, name: str, index: tuple[int, ...], item: str, eigenvalue: float) -> None:
        super().__init__(
            f'{name}: {item} is not positive definite (smallest eigenvalue {eigenvalue:.3g}); '
            'raise the variance floor, or check how it was computed'
        )
        self.name = name
        self.index = index
        self.eigenvalue = eigenvalue


@full_precision
def safe_cholesky(matrix: Tensor, name: str = 'covariance') -> Tensor:
    """Lower Cholesky factor; items that fail, and only they, are tried again with jitter.

    L Lᵀ = M, or M + jitter·diag(M) for them. Raises NotPositiveDefiniteError if that fails too.

    Shapes: matrix (..., d, d) -> (..., d, d).
    """
    check_square(matrix, name)
    factor, info = torch.linalg.cholesky_ex(matrix)
    failed = (info != 0) | ~symmetric_items(matrix.detach())
    if not failed.any():
        return factor
    refuse_bad_items(matrix.detach(), name)
    return _lifted(matrix, failed, name, matrix.dtype)[1]


def _lifted(
    matrix: Tensor, failed: Tensor, name: str, made_in: torch.dtype
) -> tuple[Tensor, Tensor]:
    """M + jitter·diag(M) in the items that failed (...), and its Cholesky factor.

    Shapes: matrix (..., d, d) -> (..., d, d), (..., d, d).
    """
    variance = matrix.detach().diagonal(dim1=-2, dim2=-1).clamp(min=0)
    jitter = torch.where(failed, JITTER[made_in], 0.0).to(matrix.dtype)
    for _ in range(JITTER_STEPS):
        lifted = matrix + torch.diag_embed(jitter[..., None] * variance)
        factor, info = torch.linalg.cholesky_ex(lifted)
        if not info.any():
            return lifted, factor
        # Only the items that fail again get more: the others keep what they passed with.
        jitter = torch.where(info != 0, jitter * JITTER_GROWTH, jitter)
    index, item = first_item(info != 0)
    eigenvalue = torch.linalg.eigvalsh(matrix.detach()[index].double())[0].item()
    raise NotPositiveDefiniteError(name, index, item, eigenvalue)


def made_in(matrix: Tensor) -> torch.dtype:
    """The type that a matrix (..., d, d) was computed in.

    A float64 matrix whose every entry is a float32 number was computed in float32 and cast since.
    """
    if matrix.dtype == torch.float64 and torch.equal(matrix, matrix.float().double()):
        return torch.float32
    return matrix.dtype


def to_float64(matrix: Tensor, name: str = 'covariance') -> Tensor:
    """A covariance in float64, exactly symmetric and positive definite.

    Rounding is judged by the type that the matrix was made in: a covariance that was computed in
    float32 is symmetric and positive definite only to float32's precision. The two triangles are
    averaged, and items that are not positive definite by more than float64's own rounding, and
    only they, get jitter·diag(M), with the jitter of that type. What rounding does not explain is
    a ValueError or a NotPositiveDefiniteError.

    Shapes: matrix (..., d, d) -> (..., d, d).
    """
    check_square(matrix, name)
    precision = made_in(matrix)
    matrix = matrix.double()
    if not symmetric_items(matrix.detach(), precision).all():
        refuse_bad_items(matrix.detach(), name, precision)
    matrix = symmetric_part(matrix)
    # What is left after the margin is taken away outlasts a scaling or a marginal, which round.
    margin = 4 * matrix.shape[-1] * torch.finfo(matrix.dtype).eps
    reduced = matrix - margin * torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1))
    failed = torch.linalg.cholesky_ex(reduced.detach())[1] != 0
    if not failed.any():
        return matrix
    return torch.where(
        failed[..., None, None], _lifted(reduced, failed, name, precision)[0], matrix
    )


@full_precision
def log_determinant(matrix: Tensor, name: str = 'covariance') -> Tensor:
    """log|M| from the Cholesky factor. Shapes: matrix (..., d, d) -> (...)."""
    return cholesky_log_determinant(safe_cholesky(matrix, name))


def cholesky_log_determinant(scale_tril: Tensor) -> Tensor:
    """log|L Lᵀ| = 2 Σ log L_ii. Shapes: scale_tril (..., d, d) -> (...)."""
    return 2 * scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


@full_precision
def solve(matrix: Tensor, rhs: Tensor, name: str = 'covariance') -> Tensor:
    """M^-1 B by Cholesky. Shapes: matrix (..., d, d), rhs (..., d, k) -> (..., d, k)."""
    dim = check_square(matrix, name)
    if rhs.ndim < 2 or rhs.shape[-2] != dim:
        raise ValueError(f'rhs: expected shape (..., {dim}, k), got {shape_of(rhs)}')
    return torch.cholesky_solve(rhs, safe_cholesky(matrix, name))


class _Lyapunov(torch.autograd.Function):
    """X with S X + X S = G for symmetric S = V diag(s) Vᵀ and symmetric G."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, root: Tensor, gradient: Tensor, values: Tensor, vectors: Tensor
    ) -> Tensor:
        total = values[..., :, None] + values[..., None, :]
        # Within the null space the root has no derivative: zero there, rather than infinite.
        noise = (total.shape[-1] * torch.finfo(total.dtype).eps) ** 0.5 * values[..., -1:, None]
        weight = torch.where(total > noise, 1 / total, 0.0)
        solution = vectors @ (weight * (vectors.mT @ gradient @ vectors)) @ vectors.mT
        ctx.save_for_backward(root, solution, values, vectors)
        return solution

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        root, solution, values, vectors = ctx.saved_tensors
        (grad,) = grads
        adjoint = _Lyapunov.apply(root, symmetric_part(grad), values, vectors)
        return -(adjoint @ solution + solution @ adjoint), adjoint, None, None


class _SymmetricSqrt(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, values: Tensor, vectors: Tensor) -> Tensor:  # type: ignore[override]
        root = (vectors * values[..., None, :]) @ vectors.mT
        ctx.save_for_backward(root, values, vectors)
        return root

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (grad,) = grads
        root, values, vectors = ctx.saved_tensors
        return _Lyapunov.apply(root, symmetric_part(grad), values, vectors), None, None


def symmetric_part(matrix: Tensor) -> Tensor:
    """(M + Mᵀ) / 2, exactly symmetric. Shapes: matrix (..., d, d) -> (..., d, d)."""
    return (matrix + matrix.mT) / 2


@full_precision
def symmetric_sqrt(matrix: Tensor, name: str = 'matrix') -> Tensor:
    """The symmetric root S of a positive semidefinite matrix, S S = M.

    Forward by eigh with eigenvalues clamped at 0; the gradient solves S X + X S = G, which
    divides by no eigengap and so is finite at repeated eigenvalues.

    Shapes: matrix (..., d, d) -> (..., d, d).
    """
    check_square(matrix, name)
    if not symmetric_items(matrix.detach()).all():
        refuse_bad_items(matrix.detach(), name)
    matrix = symmetric_part(matrix)
    with torch.no_grad():
        values, vectors = torch.linalg.eigh(matrix)
    if matrix.numel():
        negative = values[..., 0] < -SYMMETRY_TOLERANCE[matrix.dtype] * values.abs().amax(-1)
        if negative.any():
            index, item = first_item(negative)
            raise NotPositiveDefiniteError(name, index, item, values[index][0].item())
    return _SymmetricSqrt.apply(matrix, values.clamp(min=0).sqrt(), vectors)


@full_precision
def add_floor(matrix: Tensor, floor: float | Tensor) -> Tensor:
    """M + floor·I, or M + diag(floor). Shapes: matrix (..., d, d), floor scalar or (..., d)."""
    dim = check_square(matrix, 'matrix')
    check_not_negative(floor, 'floor')
    if isinstance(floor, Tensor) and floor.ndim:
        if floor.shape[-1] not in (1, dim):
            raise ValueError(f'floor: expected a scalar or (..., {dim}), got {shape_of(floor)}')
        return matrix + torch.diag_embed(floor.expand(*floor.shape[:-1], dim))
    return matrix + floor * torch.eye(dim, dtype=matrix.dtype, device=matrix.device)


@full_precision
def mask_matrix(matrix: Tensor, mask: Tensor) -> Tensor:
    """Identity in the rows and columns of missing dimensions.

    log|M| and, with r = 0 there, rᵀM^-1r are then those of the marginal.

    Shapes: matrix (..., d, d), mask (..., d) True = present -> (..., d, d).
    """
    dim = check_square(matrix, 'matrix')
    check_mask(mask, dim)
    identity = torch.eye(dim, dtype=matrix.dtype, device=matrix.device)
    return torch.where(mask[..., :, None] & mask[..., None, :], matrix, identity)


def joint_blocks(covariance: Array, block: int = 2) -> Array:
    """The marginal covariance of every joint, of ``block`` dimensions; numpy or torch.

    Shapes: (..., K·b, K·b) -> (..., K, b, b).
    """
    dim = covariance.shape[-1]
    if block < 1 or dim % block:
        raise ValueError(f'block {block} does not divide the {dim} dimensions')
    rows = np.arange(dim).reshape(-1, block)
    return covariance[..., rows[:, :, None], rows[:, None, :]]
