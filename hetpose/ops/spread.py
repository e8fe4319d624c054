"""Place and spread of the mass of a map or of a vector of scores.

Axes: K joints, (H, W) cells of a map. Places are fractions of the map: cell i of n lies at
(i + ½) / n.
"""

from __future__ import annotations

import torch
from torch import Tensor

STATISTICS = 8
"""x and y of the peak, its height, the centroid's offset (x, y) from it, log σx, log σy, ρ."""

SMALLEST_MASS = 1e-7  # of a cell, where the peak's is 1
SMALLEST_SPREAD = 1e-3  # of the map's side; a single cell has no spread at all


def _mass(scores: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Squares of the positive scores, divided by their sum over ``dims``.

    Squares leave less to a broad background than the scores themselves do, and no scale of the
    scores matters. Where no score is positive the mass is uniform.
    """
    positive = scores.clamp_min(0)
    height = positive.amax(dims, keepdim=True)
    squares = (positive / torch.where(height > 0, height, 1.0)).square()
    # A maximum, not a sum: exporters drop the addition of a small number.
    squares = squares.clamp_min(SMALLEST_MASS)
    return squares / squares.sum(dims, keepdim=True)


def _cells(count: int, like: Tensor) -> Tensor:
    """Places (n,) of the cells along one axis."""
    return (torch.arange(count, dtype=like.dtype, device=like.device) + 0.5) / count


def _variance(mass: Tensor, places: Tensor, mean: Tensor) -> Tensor:
    """Σ m (p − mean)², of mass (..., n) at places (n,): never negative, as E p² − mean² may be."""
    return (mass * (places - mean[..., None]).square()).sum(-1)


def _log_spread(variance: Tensor) -> Tensor:
    return 0.5 * variance.clamp_min(SMALLEST_SPREAD**2).log()


def map_statistics(maps: Tensor) -> Tensor:
    """STATISTICS of maps (..., H, W) → (..., 8)."""
    height, width = maps.shape[-2:]
    x, y = _cells(width, maps), _cells(height, maps)
    score, index = maps.flatten(-2).max(-1)
    peak_x, peak_y = x[index % width], y[index // width]
    mass = _mass(maps, (-2, -1))
    along_x, along_y = mass.sum(-2), mass.sum(-1)
    mean_x, mean_y = along_x @ x, along_y @ y
    var_x, var_y = _variance(along_x, x, mean_x), _variance(along_y, y, mean_y)
    # Of centred places: E xy − E x E y keeps no digits of a narrow peak far from the origin.
    from_mean = (mass @ (x - mean_x[..., None])[..., None]).squeeze(-1)  # (..., H)
    product = (from_mean * (y - mean_y[..., None])).sum(-1)
    floor = SMALLEST_SPREAD**2
    scale = (var_x.clamp_min(floor) * var_y.clamp_min(floor)).sqrt()
    offset_x, offset_y = mean_x - peak_x, mean_y - peak_y
    parts = (peak_x, peak_y, score, offset_x, offset_y, _log_spread(var_x), _log_spread(var_y))
    return torch.stack([*parts, (product / scale).clamp(-1, 1)], dim=-1)


def vector_statistics(along_x: Tensor, along_y: Tensor) -> Tensor:
    """The same of one vector of scores per axis, (..., W) and (..., H) → (..., 8) with ρ = 0.

    The height is the lower of the two peaks.
    """
    columns = [_axis_statistics(scores) for scores in (along_x, along_y)]
    peak, score, offset, spread = (
        torch.stack(pair, dim=-1) for pair in zip(*columns, strict=True)
    )
    lower = score.amin(-1, keepdim=True)
    return torch.cat([peak, lower, offset, spread, torch.zeros_like(lower)], dim=-1)


def _axis_statistics(scores: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Peak's place, its height, the centroid's offset and log σ of scores (..., n), each (...)."""
    places = _cells(scores.shape[-1], scores)
    height, index = scores.max(-1)
    mass = _mass(scores, (-1,))
    mean = mass @ places
    spread = _log_spread(_variance(mass, places, mean))
    return places[index], height, mean - places[index], spread
