"""One Student-t for all residuals, of which some may be missing.

Axes: N samples, d dimensions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hetpose.ops.gaussian import mahalanobis_squared
from hetpose.ops.moments import pair_sums, residual_covariance

STEPS = 20


@torch.no_grad()
def student_scale(
    residual: Tensor, mask: Tensor, degrees_of_freedom: float = 3.0, steps: int = STEPS
) -> Tensor:
    """The scale S (d, d) of a Student-t, by expectation and maximisation from the covariance.

    A sample counts (ν + n)/(ν + rᵀS^-1r): gross errors hardly do, so that S is the size of the
    usual error, where their covariance is mostly that of the gross ones.

    Shapes: residual and mask (N, d), True where present.
    """
    scale = residual_covariance(*pair_sums(residual, mask), shrink=True)
    count = mask.sum(-1).to(residual)
    for _ in range(steps):
        distance = mahalanobis_squared(residual, scale, mask)
        weight = (degrees_of_freedom + count) / (degrees_of_freedom + distance)
        total, seen = pair_sums(weight.sqrt()[:, None] * residual, mask)
        scale = residual_covariance(total, seen, shrink=True)
    return scale
