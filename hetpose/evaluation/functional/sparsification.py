"""Sparsification: does the error fall when the most uncertain samples are left out?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hetpose.evaluation.functional.calibration import (
    present,
    squared_radius,
    variance_and_error,
)

RANKED = 0.9
"""The ellipsoids of this level rank the predictions of a Student-t by their size."""


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
    residual: Tensor,
    covariance: Tensor,
    mask: Tensor | None = None,
    degrees_of_freedom: Tensor | None = None,
) -> Sparsification:
    """The curve of the mean squared error per dimension while samples are removed by tr Σ / n.

    For a correct mean, tr Σ(x) is E‖r‖² given x, and keeping the samples of the smallest expected
    error gives the smallest expected error of what is kept at every fraction. So over rankings
    that see only x the true Σ has the smallest ``absolute`` in expectation; a single finite sample
    may rank another one lower by chance.

    A Student-t is ranked as the Gaussian that has the same 90% ellipsoid. Its own tr Σ, which is
    ν/(ν − 2)·tr S, would rank by a tail that nobody has seen: it grows without bound as ν tends to
    2, while the errors of real data are bounded, by the image if nothing else. Where all ν are
    equal and nothing is missing the two rankings are one.

    Shapes: (N, d), (N, d, d), mask (N, d), degrees_of_freedom (N,).
    """
    variance, error = variance_and_error(residual, covariance, mask)
    count = present(residual, mask).sum(-1)
    score = ranking(variance, count, degrees_of_freedom)
    return sparsify(error[count > 0], score[count > 0])


def ranking(variance: Tensor, count: Tensor, degrees_of_freedom: Tensor | None = None) -> Tensor:
    """tr Σ / n of the Gaussian that has the same 90% ellipsoid, from that of a prediction.

    Shapes: variance, number n of present dimensions, degrees_of_freedom (...) → (...).
    """
    if degrees_of_freedom is None:
        return variance
    count, light = count.clamp(min=1), torch.full_like(degrees_of_freedom, torch.inf)
    own, gaussian = (squared_radius(RANKED, count, nu) for nu in (degrees_of_freedom, light))
    return variance * own / gaussian


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
