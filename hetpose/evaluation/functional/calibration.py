"""Calibration of multivariate Gaussians: does the truth fall where the covariance predicts?

N samples of d dimensions; a mask is True where a dimension is present; K blocks (joints) of b
dimensions each. If the model is right, the squared Mahalanobis distance of the present dimensions
is χ² with as many degrees of freedom. Where ν is given (``degrees_of_freedom``, one for each
sample), the predictions are Student-t with covariance Σ, and F takes the place of χ².
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy import stats
from torch import Tensor

from hetpose.ops.gaussian import mahalanobis_squared
from hetpose.ops.spd import joint_blocks, log_determinant, mask_matrix
from hetpose.ops.student import marginal_cdf, radial_cdf, radial_quantile, variance_ratio

LEVELS = torch.arange(1, 100, dtype=torch.float64) / 100


def present(residual: Tensor, mask: Tensor | None) -> Tensor:
    """The mask of ``residual`` (..., d) as booleans (..., d); all True without one."""
    if mask is None:
        return torch.ones(residual.shape, dtype=torch.bool, device=residual.device)
    if mask.shape != residual.shape:
        raise ValueError(f'mask has shape {tuple(mask.shape)}, residual {tuple(residual.shape)}')
    return mask.bool()


def variance_and_error(
    residual: Tensor, covariance: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """tr Σ / n and ‖r‖² / n, n the present dimensions; 0 where there are none.

    Shapes: (..., d), (..., d, d), mask (..., d) → (...), (...).
    """
    here = present(residual, mask)
    count = here.sum(-1).clamp(min=1)
    variance = covariance.diagonal(dim1=-2, dim2=-1).where(here, 0.0).sum(-1) / count
    error = residual.square().where(here, 0.0).sum(-1) / count
    return variance, error


def split_blocks(
    residual: Tensor, covariance: Tensor, mask: Tensor | None = None, block: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Marginals of consecutive blocks of dimensions.

    Shapes: residual (..., d), covariance (..., d, d), mask (..., d) → (..., K, b), (..., K, b, b),
    (..., K, b), d = K·b.
    """
    blocks = joint_blocks(covariance, block)
    return (
        residual.unflatten(-1, (-1, block)),
        blocks,
        present(residual, mask).unflatten(-1, (-1, block)),
    )


def pit(
    residual: Tensor,
    covariance: Tensor,
    mask: Tensor | None = None,
    degrees_of_freedom: Tensor | None = None,
) -> Tensor:
    """The probability integral transform F_χ²(n)(rᵀΛr), n the present dimensions; NaN for n = 0.

    Uniform on [0, 1] if the model is right. Shapes: (..., d), (..., d, d), mask (..., d),
    degrees_of_freedom (...) → (...).
    """
    here = present(residual, mask)
    count = here.sum(-1).to(residual.dtype)
    distance = mahalanobis_squared(residual, covariance, here)
    count_or_one = count.clamp(min=1)
    if degrees_of_freedom is None:
        value = torch.special.gammainc(count_or_one / 2, distance.clamp(min=0) / 2)
    else:
        distance = distance.clamp(min=0) * variance_ratio(degrees_of_freedom)
        value = radial_cdf(distance, count_or_one, degrees_of_freedom)
    return torch.where(count > 0, value, torch.nan)


def marginal_pit(
    residual: Tensor,
    covariance: Tensor,
    mask: Tensor | None = None,
    degrees_of_freedom: Tensor | None = None,
) -> Tensor:
    """The PIT of every dimension by itself, Φ(r_i/σ_i); NaN where it is missing.

    It shows bias, which ``pit`` does not.

    Shapes: (..., d), (..., d, d), mask (..., d), degrees_of_freedom (...) → (..., d).
    """
    deviation = residual / covariance.diagonal(dim1=-2, dim2=-1).sqrt()
    if degrees_of_freedom is None:
        value = torch.special.ndtr(deviation)
    else:
        ratio = variance_ratio(degrees_of_freedom)[..., None]
        value = marginal_cdf(deviation * ratio.sqrt(), degrees_of_freedom[..., None])
    return torch.where(present(residual, mask), value, torch.nan)


def squared_radius(
    level: float, dim: int | Tensor, degrees_of_freedom: Tensor | None = None
) -> float | Tensor:
    """rᵀΛr of the ellipsoid that holds ``level``: χ² quantile, or (ν − 2)/ν·n·F(n, ν) quantile.

    Shapes: dim n and degrees_of_freedom broadcast to (...) → a number without ν, else (...).
    """
    if degrees_of_freedom is None:
        return float(stats.chi2.ppf(level, dim))
    quantile = radial_quantile(level, dim, degrees_of_freedom)
    return quantile / variance_ratio(degrees_of_freedom)


def coverage(values: Tensor, levels: Tensor = LEVELS) -> Tensor:
    """The share of samples inside the ellipsoid of each level.

    Shapes: PIT (N,), of which NaN is left out, and levels (L,) → (L,).
    """
    finite, _ = values[~values.isnan()].sort()
    if not len(finite):
        return torch.full_like(levels, torch.nan)
    inside = torch.searchsorted(finite, levels.to(finite), right=True)
    return inside.to(finite.dtype) / len(finite)


def expected_calibration_error(values: Tensor, levels: Tensor = LEVELS) -> float:
    """The mean over the levels of |coverage − level|; 0 is perfect, ½ the worst.

    Shapes: PIT (N,), levels (L,).
    """
    return (coverage(values, levels) - levels.to(values)).abs().mean().item()


def uniformity(values: Tensor) -> tuple[float, float]:
    """The Kolmogorov-Smirnov statistic of the PIT against the uniform, and its p-value.

    Shape: (N,), of which NaN is left out.
    """
    finite = values[~values.isnan()]
    if not len(finite):
        return float('nan'), float('nan')
    test = stats.kstest(finite.cpu().numpy(), 'uniform')
    return float(test.statistic), float(test.pvalue)


@dataclass(frozen=True)
class Reliability:
    """Predicted (B,) and observed (B,) errors in bins of similar predicted spread.

    ENCE is their mean relative gap.
    """

    predicted: Tensor
    observed: Tensor
    ence: float


def reliability(
    residual: Tensor, covariance: Tensor, mask: Tensor | None = None, bins: int = 10
) -> Reliability:
    """``binned_reliability`` of the samples with anything present.

    Shapes: (N, d), (N, d, d), mask (N, d).
    """
    variance, error = variance_and_error(residual, covariance, mask)
    kept = present(residual, mask).any(-1)
    return binned_reliability(variance[kept], error[kept], bins)


def binned_reliability(variance: Tensor, error: Tensor, bins: int = 10) -> Reliability:
    """Expected normalised calibration error over bins of equal size, sorted by predicted variance.

    ENCE = mean over bins of |RMSE − RMV| / RMV, RMV² = mean of tr Σ / n and RMSE² = mean of ‖r‖² /
    n, n the present dimensions of a sample. Shapes: (N,), (N,).
    """
    order = variance.argsort(stable=True)
    parts = order.tensor_split(max(1, min(bins, len(order))))
    if not len(order):
        return Reliability(variance, error, float('nan'))
    predicted = torch.stack([variance[part].mean() for part in parts]).sqrt()
    observed = torch.stack([error[part].mean() for part in parts]).sqrt()
    return Reliability(
        predicted, observed, ((observed - predicted).abs() / predicted).mean().item()
    )


@dataclass(frozen=True)
class Sharpness:
    """The spread of the predictions, in the target's units, whether or not they are right."""

    rms_std: float  # √ of the mean variance of a dimension
    geometric_std: float  # exp of the mean of log|Σ| / 2n: the side of the box of equal volume
    ellipse_area: float | None  # mean area of the ellipse of ``level``; two dimensions only


def sharpness(
    covariance: Tensor,
    mask: Tensor | None = None,
    level: float = 0.9,
    degrees_of_freedom: Tensor | None = None,
) -> Sharpness:
    """Size of the predicted covariances, over samples with anything present.

    Shapes: (N, d, d), mask (N, d), degrees_of_freedom (N,).
    """
    diagonal = covariance.diagonal(dim1=-2, dim2=-1)
    here = present(diagonal, mask)
    kept = here.any(-1)
    variance, _ = variance_and_error(torch.zeros_like(diagonal), covariance, here)
    log_volume, area = volume_and_area(covariance, here, level, degrees_of_freedom)
    return mean_sharpness(here.sum(-1)[kept], variance[kept], log_volume[kept], area[kept])


def volume_and_area(
    covariance: Tensor,
    mask: Tensor | None = None,
    level: float = 0.9,
    degrees_of_freedom: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """log|Σ| of the present dimensions, and the area of the ellipse of ``level``.

    The area is π q √|Σ|, q the ``squared_radius`` of ``level``; NaN unless d = 2 and both are
    present. Shapes: (..., d, d), mask (..., d), degrees_of_freedom (...) → (...), (...).
    """
    here = present(covariance.diagonal(dim1=-2, dim2=-1), mask)
    log_volume = log_determinant(mask_matrix(covariance, here))
    if here.shape[-1] != 2:
        return log_volume, torch.full_like(log_volume, torch.nan)
    radius = squared_radius(level, 2, degrees_of_freedom)
    area = torch.pi * radius * (log_volume / 2).exp()
    return log_volume, area.where(here.all(-1), torch.nan)


def mean_sharpness(dims: Tensor, variance: Tensor, log_volume: Tensor, area: Tensor) -> Sharpness:
    """The sharpness of N samples from n > 0, tr Σ / n, log|Σ| and areas, (N,) each."""
    areas = area[~area.isnan()]
    return Sharpness(
        variance.mean().sqrt().item(),
        (log_volume / (2 * dims)).mean().exp().item(),
        areas.mean().item() if len(areas) else None,
    )
