"""Second moments of residuals, of which some may be missing.

Axes: N samples, d dimensions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hetpose.ops.spd import symmetric_part

EIGENVALUE_FLOOR = 1e-6
"""Relative to the mean variance: moments of incomplete data may be indefinite."""


def pair_sums(residual: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Σ r_i r_j over the samples that have both, and their number: (d, d) each.

    Shapes: residual and mask (N, d), True where present.
    """
    present = torch.ones_like(residual) if mask is None else mask.to(residual)
    residual = torch.where(present > 0, residual, torch.zeros_like(residual))
    return residual.mT @ residual, present.mT @ present


def residual_covariance(total: Tensor, count: Tensor, shrink: bool = False) -> Tensor:
    """E[r_i r_j] from the sums of ``pair_sums``; a pair that was never seen has 0.

    With ``shrink`` it is positive definite and fit for few samples, of which the plain moments are
    close to singular: off the diagonal shrunk by n / (n + d), n the number of samples that have
    both, and the variances towards their mean as if by one more sample.

    Shapes: total and count (d, d) -> (d, d).
    """
    if not shrink:
        return total / count.clamp(min=1)
    squares, seen = total.diagonal(), count.diagonal()
    variances = (squares + squares.sum() / seen.sum().clamp_min(1)) / (seen + 1)
    moment = (total / (count + len(total))).diagonal_scatter(variances)
    values, vectors = torch.linalg.eigh(moment)
    floor = EIGENVALUE_FLOOR * values.clamp_min(0).mean().clamp_min(torch.finfo(values.dtype).tiny)
    return symmetric_part((vectors * values.clamp_min(floor)) @ vectors.mT)
