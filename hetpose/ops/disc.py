"""Probability mass of a planar Gaussian or Student-t in a disc around its mean."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hetpose.ops.student import tail_energy

DISC_NODES = 32
"""Quadrature nodes on the half circle. The integrand is smooth and periodic, so the error falls
geometrically."""


def disc_probability(
    covariance: Tensor,
    radius: Tensor | float,
    nodes: int = DISC_NODES,
    degrees_of_freedom: Tensor | None = None,
) -> Tensor:
    """P(|x| ≤ r) of x ~ N(0, Σ): 1 − E_φ exp(−r² / 2uᵀΣu), u = (cos φ, sin φ), φ uniform.

    Write x = ρ Σ^½ u with ρ² ~ χ²₂: x is in the disc when ρ² ≤ r² / uᵀΣu, which has that
    probability given u. Of a Student-t ρ²/2 ~ F(2, ν), and S takes the place of Σ:
    1 − E_φ (1 + r² / (ν uᵀSu))^(−ν/2).

    Args:
        covariance: Σ (..., 2, 2).
        radius: r, broadcast against the batch shape (...).
        degrees_of_freedom: ν > 2, broadcast against the batch shape (...), of a Student-t.

    Returns:
        Probabilities (...).
    """
    phi = torch.arange(nodes, dtype=covariance.dtype, device=covariance.device) * (math.pi / nodes)
    cos, sin = phi.cos(), phi.sin()
    xx, yy = covariance[..., 0, 0, None], covariance[..., 1, 1, None]
    xy = 0.5 * (covariance[..., 0, 1] + covariance[..., 1, 0])[..., None]
    spread = (xx * cos**2 + 2 * xy * cos * sin + yy * sin**2).clamp_min(
        torch.finfo(covariance.dtype).tiny
    )
    radius = torch.as_tensor(radius, dtype=covariance.dtype, device=covariance.device)
    if degrees_of_freedom is None:
        return 1 - torch.exp(-(radius[..., None] ** 2) / (2 * spread)).mean(-1)
    nu = degrees_of_freedom.to(covariance)[..., None]
    distance = radius[..., None] ** 2 / (spread * (1 - 2 / nu))
    # The tail energy without dimensions is ν/2·log(1 + q/ν), also at ν = ∞.
    return 1 - torch.exp(-tail_energy(distance, nu, 0)).mean(-1)
