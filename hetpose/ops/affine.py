"""Points and their covariance under one affine map of the plane and a permutation of the joints.

matrix is A (..., 2, 2) or [A | t] (..., 2, 3). New joint j is old joint permutation[j] (a
horizontal flip swaps left and right). Σ follows as (P⊗A) Σ (P⊗A)ᵀ, a factor as (P⊗A) F.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from hetpose.ops.validation import check_square, check_vector, full_precision, shape_of


def _linear(matrix: Tensor) -> Tensor:
    if matrix.ndim < 2 or matrix.shape[-2] != 2 or matrix.shape[-1] not in (2, 3):
        raise ValueError(
            f'matrix: expected shape (..., 2, 2) or (..., 2, 3), got {shape_of(matrix)}'
        )
    return matrix[..., :2]


def _permuted(joints: Tensor, permutation: Sequence[int] | None, axis: int) -> Tensor:
    if permutation is None:
        return joints
    order = [int(j) for j in permutation]
    if sorted(order) != list(range(joints.shape[axis])):
        raise ValueError(
            f'permutation: expected each of 0..{joints.shape[axis] - 1} once, got {order}'
        )
    return joints.index_select(axis, torch.tensor(order, device=joints.device))


@full_precision
def transform_points(
    points: Tensor, matrix: Tensor, permutation: Sequence[int] | None = None
) -> Tensor:
    """A·p + t for every joint.

    Shapes: points (..., K, 2), matrix (..., 2, 2 or 3) -> (..., K, 2).
    """
    if points.ndim < 2 or points.shape[-1] != 2:
        raise ValueError(f'points: expected shape (..., K, 2), got {shape_of(points)}')
    moved = _permuted(points, permutation, -2) @ _linear(matrix).transpose(-1, -2)
    return moved + matrix[..., None, :, 2] if matrix.shape[-1] == 3 else moved


def _transform_rows(
    factor: Tensor, matrix: Tensor, permutation: Sequence[int] | None, name: str
) -> Tensor:
    if factor.ndim < 2 or factor.shape[-2] % 2:
        raise ValueError(f'{name}: expected shape (..., 2K, m), got {shape_of(factor)}')
    joints = factor.unflatten(-2, (factor.shape[-2] // 2, 2))
    return (_linear(matrix)[..., None, :, :] @ _permuted(joints, permutation, -3)).flatten(-3, -2)


@full_precision
def transform_factor(
    factor: Tensor, matrix: Tensor, permutation: Sequence[int] | None = None
) -> Tensor:
    """(P⊗A) F. Shapes: factor (..., 2K, m), matrix (..., 2, 2 or 3) -> (..., 2K, m)."""
    return _transform_rows(factor, matrix, permutation, 'factor')


@full_precision
def transform_covariance(
    covariance: Tensor, matrix: Tensor, permutation: Sequence[int] | None = None
) -> Tensor:
    """(P⊗A) Σ (P⊗A)ᵀ.

    Shapes: covariance (..., 2K, 2K), matrix (..., 2, 2 or 3) -> (..., 2K, 2K).
    """
    check_square(covariance, 'covariance')
    half = _transform_rows(covariance, matrix, permutation, 'covariance')
    # .transpose, for the older ONNX exporter knows no .mT.
    other = _transform_rows(half.transpose(-1, -2), matrix, permutation, 'covariance')
    return other.transpose(-1, -2)


@full_precision
def scale_covariance(covariance: Tensor, scale: Tensor) -> Tensor:
    """S Σ S with S = diag(scale), as Σ_ij·(s_i·s_j): exactly symmetric wherever Σ is.

    Shapes: covariance (..., d, d), scale (..., d) -> (..., d, d).
    """
    check_vector(scale, check_square(covariance, 'covariance'), 'scale')
    return covariance * (scale[..., :, None] * scale[..., None, :])
