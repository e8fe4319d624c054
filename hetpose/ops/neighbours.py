"""Exact nearest neighbours, and the covariance of the targets among them as a pseudo-label.

Axes: N rows, m columns of x, r ≤ m whitened columns, d targets, k neighbours, q rows of a block.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hetpose.ops.neighbour_search import Block, neighbour_blocks
from hetpose.ops.spd import made_in
from hetpose.ops.validation import check_mask, shape_of

NEIGHBOURS_PER_TARGET = 10
# Eigenvalues of a correlation matrix below this are rounding: the column depends on the others.
RANK_TOLERANCE = 1e-10
# Keeps the local fit solvable where neighbours coincide; far below what they can tell.
RIDGE = 1e-10


def _check_table(table: Tensor, name: str) -> None:
    if table.ndim != 2 or table.shape[0] < 1 or not table.is_floating_point():
        raise ValueError(
            f'{name}: expected floating point numbers (N, columns) with N >= 1, got '
            f'{table.dtype} {shape_of(table)}'
        )
    if not torch.isfinite(table).all():
        raise ValueError(f'{name}: holds NaN or infinite values')


def _check_search(k: int, memory_limit: int) -> None:
    if k < 1:
        raise ValueError(f'k: expected at least 1, got {k}')
    if memory_limit < 1:
        raise ValueError(f'memory_limit: expected at least 1 byte, got {memory_limit}')


@torch.no_grad()
def whiten(x: Tensor) -> Tensor:
    """x (N, m) → (N, r) of identity covariance: Euclidean distances become Mahalanobis distances.

    Columns that are constant or depend on others carry no distance: r is the rank of Cov(x), and
    the distances are those of its pseudo-inverse.
    """
    return _whitened(x).to(x.dtype)


def _whitened(x: Tensor) -> Tensor:
    """``whiten`` in float64, with the tolerance of the type that x (N, m) was made in."""
    _check_table(x, 'x')
    values = x.detach().double()
    size = values.abs().amax(0)
    values = values / size.clamp(min=torch.finfo(torch.float64).tiny)  # squares must not overflow
    values = values - values.mean(0)
    spread = values.square().mean(0).sqrt()
    varies = spread > 8 * torch.finfo(made_in(x)).eps
    values = values[:, varies] / spread[varies]
    if len(values) < 2 or not values.shape[1]:
        return values[:, :0]
    covariance = values.mT @ values / (len(values) - 1)
    eigenvalues, vectors = torch.linalg.eigh(covariance)
    kept = eigenvalues > RANK_TOLERANCE * eigenvalues[-1]
    return values @ (vectors[:, kept] * eigenvalues[kept].rsqrt())


@torch.no_grad()
def nearest_neighbours(
    x: Tensor, k: int, memory_limit: int = 2**30, progress: bool = False
) -> tuple[Tensor, Tensor]:
    """Exact Euclidean k nearest neighbours of every row, itself first: distances, indices (N, k).

    The search takes about ``memory_limit`` bytes at most, without the result. Where several rows
    are equally far at the edge, the choice among them is arbitrary but the same in every run.
    k is capped at N. Shapes: x (N, m).
    """
    _check_table(x, 'x')
    _check_search(k, memory_limit)
    k = min(k, len(x))
    distances = torch.empty(len(x), k, dtype=x.dtype, device=x.device)
    indices = torch.empty(len(x), k, dtype=torch.int64, device=x.device)
    for block in neighbour_blocks(x.detach(), k, memory_limit, progress=progress):
        if block.stop - block.start == len(x):  # the whole result: a copy would cost page faults
            distances, indices = block.distances.to(x.dtype), block.indices
        else:
            distances[block.start : block.stop] = block.distances
            indices[block.start : block.stop] = block.indices
    return distances, indices


@torch.no_grad()
def pseudo_covariances(
    x: Tensor,
    y: Tensor,
    k: int | None = None,
    mask: Tensor | None = None,
    squared_distance: bool = False,
    local_linear: bool = False,
    memory_limit: int = 2**30,
    progress: bool = False,
) -> Tensor:
    """Covariance of the targets of every row's k nearest neighbours, by Mahalanobis distance.

    Σ̃ = Σ_j w_j (y_j − ȳ)(y_j − ȳ)ᵀ with w = softmax(−distance) and ȳ = Σ_j w_j y_j; the row is
    its own first neighbour. ``squared_distance`` weighs by softmax(−distance²). ``local_linear``
    replaces ȳ by a weighted linear fit, which takes the slope of the mean out of Σ̃.
    k is 10·d by default and capped at N. A missing target (mask False) has no weight: entry (a, b)
    is Σ_j w_j r_ja r_jb / √(W_a W_b) over the present residuals, W_a the weight present in a. It
    is positive semi-definite whatever is missing, and 0 where a target has no neighbour at all.

    Shapes: x (N, m), y (N, d), mask (N, d) of booleans; returns (N, d, d) in y's type.
    """
    k = _check_targets(x, y, mask, k, memory_limit)
    d = y.shape[1]
    points = _whitened(x)
    targets = y.detach().double()
    present = None
    if mask is not None:
        targets, present = targets.masked_fill(~mask, 0), mask.double()
    r = points.shape[1]
    if local_linear and k < r + 2:
        raise ValueError(f'k: a local fit in {r} dimensions needs at least {r + 2}, got {k}')
    row_bytes = 8 * (k * (6 * d + (4 * (r + 1) if local_linear else 0)) + 3 * d * d)
    if local_linear:
        row_bytes += 24 * (r + 1) ** 2 * (1 if mask is None else d)
    found = torch.empty(*y.shape, d, dtype=y.dtype, device=y.device)
    for block in neighbour_blocks(points, k, memory_limit, row_bytes, progress):
        distances = block.distances.square() if squared_distance else block.distances
        weights = torch.softmax(-distances, dim=1).unsqueeze(-1)  # (q, k, 1)
        if present is not None:
            weights = weights * present[block.indices]  # (q, k, d)
        near = targets[block.indices]
        fit = _linear_residuals if local_linear else _mean_residuals
        residuals, total = fit(near, weights, points, block)
        scaled = residuals * (weights / total.clamp(min=torch.finfo(total.dtype).tiny)).sqrt()
        found[block.start : block.stop] = scaled.mT @ scaled
    return found


def _check_targets(
    x: Tensor, y: Tensor, mask: Tensor | None, k: int | None, memory_limit: int
) -> int:
    """The number of neighbours."""
    _check_table(x, 'x')
    if mask is not None:
        check_mask(mask, y.shape[-1])
        if mask.shape != y.shape:
            raise ValueError(f'mask: expected shape {shape_of(y)}, got {shape_of(mask)}')
    _check_table(y if mask is None else y.masked_fill(~mask, 0), 'y')
    if len(x) != len(y):
        raise ValueError(f'y: expected {len(x)} rows, as x has, got {len(y)}')
    k = NEIGHBOURS_PER_TARGET * max(y.shape[1], 1) if k is None else k
    _check_search(k, memory_limit)
    return min(k, len(x))


def _mean_residuals(
    near: Tensor, weights: Tensor, points: Tensor, block: Block
) -> tuple[Tensor, Tensor]:
    """y_j − ȳ (q, k, d) and the sum of weights (q, 1, d or 1)."""
    total = weights.sum(1, keepdim=True)
    tiny = torch.finfo(total.dtype).tiny
    mean = (weights * near).sum(1, keepdim=True) / total.clamp(min=tiny)
    return near - mean, total


def _linear_residuals(
    near: Tensor, weights: Tensor, points: Tensor, block: Block
) -> tuple[Tensor, Tensor]:
    """Residuals (q, k, d) of a weighted linear fit in x, and Σ_j w_j (1 − h_j) (q, 1, d or 1).

    h_j is the leverage: the fit takes its share of the noise, and the divisor gives it back.
    """
    centre = points[block.start : block.stop].unsqueeze(1)
    slopes = points[block.indices] - centre  # (q, k, r)
    design = torch.cat((slopes.new_ones(*slopes.shape[:2], 1), slopes), dim=-1)
    weighted = weights.mT.unsqueeze(-1) * design.unsqueeze(1)  # (q, d or 1, k, r + 1)
    gram = weighted.mT @ design.unsqueeze(1)
    size = gram.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    identity = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    gram = gram + (RIDGE * size + torch.finfo(gram.dtype).tiny) * identity
    hat = torch.linalg.solve(gram, weighted.mT)  # (q, d or 1, r + 1, k)
    columns = near.mT.unsqueeze(-1)  # (q, d, k, 1)
    fitted = (design.unsqueeze(1) @ (hat @ columns)).squeeze(-1).mT
    leverage = (design.unsqueeze(1) * hat.mT).sum(-1).mT  # (q, k, d or 1)
    share = (weights * (1 - leverage).clamp(min=0)).sum(1, keepdim=True)
    least = weights.sum(1, keepdim=True) / near.shape[1]
    return near - fitted, torch.maximum(share, least)
