"""Probability mass of a planar Gaussian or Student-t in a disc around its mean."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from hetpose.ops.student import tail_energy, variance_ratio

STEP = 0.2
"""Distance of the quadrature's nodes; the error is about exp(−π² / 2·STEP)."""
END = 28.0
"""Where the quadrature ends on either side; what lies beyond weighs exp(−END)."""


@cache
def _nodes() -> tuple[Tensor, Tensor]:
    """sin²φ at the nodes φ = atan(exp v), v equidistant, and their weights, which sum to 1.

    Shapes: (n,), (n,).
    """
    v = torch.arange(-END, END + STEP / 2, STEP, dtype=torch.float64)
    weights = 1 / torch.cosh(v)  # dφ/dv, up to a constant
    return torch.sigmoid(2 * v), weights / weights.sum()


def disc_probability(
    covariance: Tensor, radius: Tensor | float, degrees_of_freedom: Tensor | None = None
) -> Tensor:
    """P(|x| ≤ r) of x ~ N(0, Σ): 1 − E_φ exp(−r² / 2s), s = a² sin²φ + b² cos²φ, φ uniform.

    Write x = ρ Σ^½ u with ρ² ~ χ²₂ and u uniform on the circle: x is in the disc when ρ² ≤ r² / s,
    a² and b² the variances along the axes, which has that probability given φ. Of a Student-t
    ρ²/2 ~ F(2, ν), and the scale takes the place of Σ: 1 − E_φ (1 + r² / νs)^(−ν/2).

    With tan φ = exp v all that happens near φ ≈ b/a spreads over a unit of v, and the trapezoid
    rule in v is right to about ten digits however elongated Σ is.

    Args:
        covariance: Σ (..., 2, 2).
        radius: r, broadcast against the batch shape (...).
        degrees_of_freedom: ν > 2, broadcast against the batch shape (...), of a Student-t.

    Returns:
        Probabilities (...), computed in float64.
    """
    sigma = covariance.double()
    tiny = torch.finfo(sigma.dtype).tiny
    xx, yy = sigma[..., 0, 0], sigma[..., 1, 1]
    xy = 0.5 * (sigma[..., 0, 1] + sigma[..., 1, 0])
    larger = (0.5 * (xx + yy) + torch.hypot(0.5 * (xx - yy), xy)).clamp(min=tiny)
    # The product of the variances is |Σ|: the division cancels less than a difference would.
    smaller = ((xx * yy - xy.square()).clamp(min=0) / larger)[..., None]
    share, weights = (part.to(sigma.device) for part in _nodes())
    spread = smaller + (larger[..., None] - smaller) * share
    radius = torch.as_tensor(radius, dtype=sigma.dtype, device=sigma.device)[..., None]
    distance = radius.square() / spread.clamp(min=tiny)
    if degrees_of_freedom is None:
        energy = distance / 2
    else:
        nu = degrees_of_freedom.to(sigma)[..., None]
        # The tail energy without dimensions is ν/2·log(1 + q/ν), also at ν = ∞.
        energy = tail_energy(distance * variance_ratio(nu), nu, 0)
    inside = (-torch.expm1(-energy) * weights).sum(-1)
    outside = (torch.exp(-energy) * weights).sum(-1)
    # The smaller of the two keeps its digits, and a known place has exactly 1.
    return torch.where(outside < 0.5, 1 - outside, inside).to(covariance.dtype)
