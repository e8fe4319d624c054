"""Sparsification: does the error fall when the most uncertain samples are left out?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hetpose.evaluation.functional.calibration import present, variance_and_error


@dataclass(frozen=True)
class Sparsification:
    """The mean squared error of the kept samples, relative to that of all, (N,) each.

    ``ause`` is the area between the curve and the oracle's (which removes by the true error): 0 is
    perfect; ``random`` is the area of leaving out at random, the mark to beat. ``absolute`` is
    ``ause`` in squared units.
    """

    removed: Tensor
    curve: Tensor
    oracle: Tensor
    ause: float
    random: float
    absolute: float


def _kept_mean(error: Tensor, score: Tensor) -> Tensor:
    """The mean error of the 1, 2, ..., N samples of the lowest score.

    Shapes: (N,), (N,) → (N,).
    """
    order = score.argsort(stable=True)
    sorted_error = error[order]
    # Equal scores have no order of their own: each takes the mean of its tie, as random removal
    # would on average.
    _, tie, count = torch.unique_consecutive(score[order], return_inverse=True, return_counts=True)
    sums = torch.zeros(len(count), dtype=error.dtype, device=error.device)
    sums.index_add_(0, tie, sorted_error)
    smooth = (sums / count)[tie]
    return smooth.cumsum(0) / torch.arange(1, len(error) + 1, device=error.device)


def sparsification(
    residual: Tensor, covariance: Tensor, mask: Tensor | None = None
) -> Sparsification:
    """The curve of the mean squared error per dimension while samples are removed by tr Σ / n.

    For a correct mean, tr Σ(x) is E‖r‖² given x, and keeping the samples of the smallest expected
    error gives the smallest expected error of what is kept at every fraction. So over rankings
    that see only x the true Σ has the smallest ``absolute`` in expectation; a single finite sample
    may rank another one lower by chance. Shapes: (N, d), (N, d, d), mask (N, d).
    """
    variance, error = variance_and_error(residual, covariance, mask)
    kept = present(residual, mask).any(-1)
    return sparsify(error[kept], variance[kept])


def sparsify(error: Tensor, score: Tensor) -> Sparsification:
    """The curves for any error and any score of uncertainty. Shapes: (N,), (N,)."""
    size = len(error)
    if size == 0:
        empty = error.new_empty(0)
        nan = float('nan')
        return Sparsification(empty, empty, empty, nan, nan, nan)
    curve, oracle = _kept_mean(error, score).flip(0), _kept_mean(error, error).flip(0)
    whole = error.mean()
    scale = whole.clamp(min=torch.finfo(error.dtype).tiny)
    absolute = (curve - oracle).mean()
    removed = torch.arange(size, dtype=error.dtype, device=error.device) / size
    return Sparsification(
        removed,
        curve / scale,
        oracle / scale,
        (absolute / scale).item(),
        ((whole - oracle).mean() / scale).item(),
        absolute.item(),
    )
