"""The orthogonal polar factor of square matrices, by products of matrices alone.

An odd cubic p(x) = ax + bx³ acts on a matrix X = USVᵀ through its singular values:
aX + bX(XᵀX) = U p(S) Vᵀ. Cubics that carry every singular value in (0, 1] to 1 therefore carry X
to UVᵀ, without a decomposition. For a batch of small matrices that takes a fraction of the time of
an SVD, at the same accuracy.
"""

import functools
import math

import torch
from torch import Tensor

# While the interval is wide, aiming only at its upper part costs little speed and keeps p(x) far
# from 0 at the upper end, where rounding could otherwise change the sign of a singular value.
CUSHION = 0.05
# How far rounding may push a singular value past the interval.
SAFETY = 1.01
# Singular values, relative to the norm, from which the first and shorter run lifts.
FIRST_LOW = 1e-7
# Where that is not enough, rounding (times a fixed random matrix) is added, so that a null space
# is completed to an orthogonal matrix, and a second run lifts from this fraction of rounding.
LAST_LOW = 1e-4
# Largest entry of |XᵀX - I| that counts as orthogonal; the rest goes to an SVD.
ORTHOGONAL = {torch.float32: 1e-5, torch.float64: 1e-13}


def _best_cubic(low: float, high: float) -> tuple[float, float, float, float]:
    """a and b of the cubic ax + bx³ nearest to 1 on [low, high]; its least and largest value.

    Its error is the same at both ends and, with the other sign, at its maximum in between.
    """
    total = high**2 + high * low + low**2
    end, top = high * (total - high**2), 2 * (total / 3) ** 1.5
    scale = 2 / (end + top)
    return scale * total, -scale, scale * end, scale * top


@functools.cache
def _cubics(low: float, eps: float) -> list[tuple[float, float]]:
    """The (a, b) that carry [low, 1] to 1 up to rounding."""
    high, steps = 1.0, []
    while max(high - 1, 1 - low) > eps:
        safety = SAFETY if high - low > CUSHION else 1.0
        a, b, least, most = _best_cubic(max(low, CUSHION * high), safety * high)
        low, high = min(a * low + b * low**3, least), most
        steps.append((a, b))
    return steps


@functools.lru_cache(maxsize=32)
def _tilt(size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(size, size, generator=generator, dtype=torch.float64) / size**0.5
    return (torch.finfo(dtype).eps * noise).to(device, dtype)


@torch.no_grad()
def polar_factor(matrix: Tensor) -> Tensor:
    """An orthogonal Q that maximises Tr(Qᵀ M): UVᵀ of M = USVᵀ, also where M is singular.

    Carries no gradient.

    Shapes: matrix (..., k, k) -> (..., k, k).
    """
    size = matrix.shape[-1]
    flat = matrix.reshape(math.prod(matrix.shape[:-2]), size, size)
    if not flat.numel():
        return matrix.clone()
    norm = torch.linalg.matrix_norm(flat, keepdim=True)
    x = flat / norm.clamp(min=torch.finfo(flat.dtype).tiny)
    eps = torch.finfo(flat.dtype).eps
    x = _lift(x, FIRST_LOW, eps)
    lost = _not_orthogonal(x)
    if lost.any():
        tilted = x[lost] + _tilt(size, flat.dtype, flat.device)
        x[lost] = _lift(tilted, LAST_LOW * eps, eps)
        lost = _not_orthogonal(x)
    if lost.any():
        left, _, right = torch.linalg.svd(flat[lost])
        x[lost] = left @ right
    return x.reshape(matrix.shape)


def _lift(x: Tensor, low: float, eps: float) -> Tensor:
    """x (n, k, k) with every singular value in [low, 1] carried to 1."""
    for a, b in _cubics(low, eps):
        x = torch.baddbmm(x, x, x.mT @ x, beta=a, alpha=b)
    return x


def _not_orthogonal(x: Tensor) -> Tensor:
    """Whether each of x (n, k, k) is not orthogonal; a matrix with NaN is not."""
    identity = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    return ~((x.mT @ x - identity).abs().amax((-2, -1)) < ORTHOGONAL[x.dtype])
