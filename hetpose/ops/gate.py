"""Whether what is learned about some joints should move another one."""

import math

import torch
from torch import Tensor

from hetpose.ops.gaussian import mahalanobis_squared
from hetpose.ops.marginal import count_present
from hetpose.ops.student import tail_energy, variance_ratio


def moving_probability(
    shift: Tensor,
    covariance: Tensor,
    odds: float,
    degrees_of_freedom: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Probability that a place is wrong which a conditional distribution would move by ``shift``.

    Either the present place is right, with prior odds ``odds``, or the truth follows the
    conditional, whose density is p(−shift) at the present place and p(0) at its mode:
    1 / (1 + odds·p(−shift)/p(0)). With odds 0 everything moves.

    Shapes: shift (..., d), covariance (..., d, d), degrees_of_freedom (...) > 2, mask (..., d)
    -> (...).
    """
    if not odds >= 0:
        raise ValueError(f'odds: expected a number >= 0, got {odds}')
    distance = mahalanobis_squared(shift, covariance, mask)
    if degrees_of_freedom is None:
        log_ratio = distance / 2
    else:
        distance = distance * variance_ratio(degrees_of_freedom)
        count = count_present(mask, shift.shape[-1], distance)
        log_ratio = tail_energy(distance, degrees_of_freedom, count)
    return torch.sigmoid(log_ratio - (math.log(odds) if odds else -math.inf))
