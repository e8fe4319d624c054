"""One Student-t for all samples, by moments that count gross errors less.

Axes: N samples, d dimensions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hetpose.ops import student
from hetpose.ops.marginal import either_cholesky, marginal_residual, whiten
from hetpose.ops.moments import pair_sums, residual_covariance
from hetpose.ops.spd import cholesky_log_determinant

START = 5.0
STEPS = 50  # at most
GAIN = 1e-4  # nats per sample; a step that gains less is the last
BATCH = 256  # samples whose factors are in memory at once
EXCESS = (1e-2, 1e2, 60)  # ν − lowest: least, most, and how many are tried


def fit_student(
    residual: Tensor, mask: Tensor, lowest: float = 2.1, steps: int = STEPS
) -> tuple[Tensor, float]:
    """Scale S (d, d) and ν ≥ lowest of the Student-t around 0 that describes residuals (N, d).

    A step of expectation-maximisation: a sample counts (ν + n)/(ν + rᵀS^-1r), n the dimensions
    that it has, in the moments that give the next S, and ν is that of highest likelihood. The
    moments are those of pairs of dimensions that a sample has both, as in ``residual_covariance``,
    which is also what the first step starts from.
    """
    residual, nu = residual.double(), START
    scale = residual_covariance(*pair_sums(residual, mask), shrink=True) * (1 - 2 / nu)
    least, most, count = EXCESS
    start, end = torch.tensor([least, most]).log10().tolist()
    tried = lowest + torch.logspace(start, end, count, dtype=residual.dtype)
    size, before = mask.sum(-1), torch.inf
    for _ in range(steps):
        logarithm, distance = _distances(residual, mask, scale)
        costs = torch.stack(
            [student.energy(logarithm, distance, one, size).mean() for one in tried]
        )
        nu, cost = tried[int(costs.argmin())].item(), costs.min().item()
        weight = (nu + size) / (nu + distance)
        scale = residual_covariance(
            *pair_sums(residual * weight.sqrt()[:, None], mask), shrink=True
        )
        if before - cost < GAIN:
            break
        before = cost
    return scale, nu


def _distances(residual: Tensor, mask: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """log|S| and rᵀS^-1r of the dimensions that each sample has, (N,) each."""
    rows = []
    for part, here in zip(residual.split(BATCH), mask.split(BATCH), strict=True):
        factor = either_cholesky(scale.expand(len(part), -1, -1), None, here)
        white = whiten(factor, marginal_residual(part, len(scale), here))
        rows.append((cholesky_log_determinant(factor), white.square().sum(-1)))
    logarithms, distances = zip(*rows, strict=True)
    return torch.cat(logarithms), torch.cat(distances)
