"""Multivariate Student-t with scale S and ν degrees of freedom: a Gaussian with heavy tails.

Its covariance is Σ = ν/(ν − 2)·S, which exists for ν > 2; at ν = ∞ it is the Gaussian N(μ, S).
Every `mask` is (..., d), True = present; a missing dimension is marginalised out, exactly: a
marginal keeps ν and takes its block of S. `degrees_of_freedom` broadcasts with the batch (...).
"""

from collections.abc import Sequence

import numpy as np
import torch
from scipy import special
from torch import Tensor

from hetpose.ops import gaussian
from hetpose.ops.marginal import count_present, either_cholesky, marginal_residual, whiten
from hetpose.ops.spd import cholesky_log_determinant
from hetpose.ops.validation import (
    NotFiniteError,
    check_broadcastable,
    check_square,
    check_vector,
    explain_nan,
    full_precision,
)

# log Γ(x + ½) − log Γ(x) − ½ log x = −1/8x + 1/192x³ − …: coefficients of the odd powers of 1/x.
HALF_STEP_SERIES = (-1 / 8, 1 / 192, -1 / 640, 17 / 14336, -31 / 18432, 691 / 180224)
# From here on these six terms are exact to 1e-14.
SERIES_START = 8


def check_degrees_of_freedom(degrees_of_freedom: Tensor, lowest: float = 0.0) -> None:
    """Every ν must be above ``lowest``; infinity is allowed, NaN is not."""
    if not bool((degrees_of_freedom > lowest).all()):
        if degrees_of_freedom.isnan().any():
            raise NotFiniteError('degrees_of_freedom: holds NaN')
        least = degrees_of_freedom.min().item()
        raise ValueError(f'degrees_of_freedom: expected values > {lowest:g}, got {least:g}')


def _as_tensor(degrees_of_freedom: float | Tensor, like: Tensor, lowest: float = 0.0) -> Tensor:
    tensor = torch.as_tensor(degrees_of_freedom, dtype=like.dtype, device=like.device)
    check_degrees_of_freedom(tensor.detach(), lowest)
    return tensor


@full_precision
def scale_from_covariance(covariance: Tensor, degrees_of_freedom: float | Tensor) -> Tensor:
    """S = (ν − 2)/ν·Σ. Shapes: covariance (..., d, d), degrees_of_freedom (...) -> (..., d, d)."""
    nu = _as_tensor(degrees_of_freedom, covariance, lowest=2)
    return covariance * (1 - 2 / nu)[..., None, None]


@full_precision
def covariance_from_scale(scale: Tensor, degrees_of_freedom: float | Tensor) -> Tensor:
    """Σ = ν/(ν − 2)·S. Shapes: scale (..., d, d), degrees_of_freedom (...) -> (..., d, d)."""
    return scale * variance_ratio(_as_tensor(degrees_of_freedom, scale))[..., None, None]


def variance_ratio(degrees_of_freedom: Tensor) -> Tensor:
    """ν/(ν − 2), the ratio of covariance to scale; ν not above 2 is an error."""
    check_degrees_of_freedom(degrees_of_freedom.detach(), lowest=2)
    return unchecked_variance_ratio(degrees_of_freedom)


def unchecked_variance_ratio(degrees_of_freedom: Tensor) -> Tensor:
    """ν/(ν − 2) as 1 + 2/(ν − 2), which is 1 at ν = ∞, where ν is known to be above 2."""
    return 1 + 2 / (degrees_of_freedom - 2)


def _log_gamma_half_step(x: Tensor) -> Tensor:
    """log Γ(x + ½) − log Γ(x) − ½ log x of x > 0, without the cancellation of large terms.

    Γ(x + 1) = xΓ(x) moves x up to where the series holds.
    """
    steps = torch.arange(SERIES_START, dtype=x.dtype, device=x.device)
    moved = (0.5 / (x[..., None] + steps)).log1p().sum(-1) - 0.5 * (SERIES_START / x).log1p()
    inverse = 1 / (x + SERIES_START)
    series = torch.zeros_like(x)
    for coefficient in reversed(HALF_STEP_SERIES):
        series = series * inverse.square() + coefficient
    return series * inverse - moved


def log_normaliser(degrees_of_freedom: Tensor, dim: int | Tensor) -> Tensor:
    """log Γ((ν + n)/2) − log Γ(ν/2) − n/2·log(ν/2): what ν adds to a Gaussian's log-density at 0.

    Γ(x + 1) = xΓ(x) turns it into a sum of log(1 + k/x), x = ν/2, all of one sign, and for odd n
    one half step. Nothing cancels, however large ν is; at infinity it is 0.

    Shapes: degrees_of_freedom (...), dim n, a number or (...) -> (...).
    """
    x = degrees_of_freedom / 2
    count = torch.as_tensor(dim, device=x.device)
    most = int(count.max()) if count.numel() else 0
    steps = torch.arange(most // 2, dtype=x.dtype, device=x.device)
    offsets = (count[..., None].to(x.dtype) / 2 - 1 - steps).clamp(min=0)
    whole = (offsets / x[..., None]).log1p().sum(-1)
    return whole + torch.where(count % 2 == 1, _log_gamma_half_step(x), 0.0)


def tail_energy(distance: Tensor, degrees_of_freedom: Tensor, dim: int | Tensor) -> Tensor:
    """(ν + n)/2·log(1 + q/ν), which is q/2 at ν = ∞. Shapes: (...), (...), (...) -> (...).

    At q = ∞, and where q is so large that q/ν overflows, it is infinite or very large, not NaN.
    """
    ratio = torch.where(degrees_of_freedom.isinf(), 0.0, distance / degrees_of_freedom)
    ratio = ratio.clamp(max=torch.finfo(ratio.dtype).max)
    nonzero = torch.where(ratio > 0, ratio, 1.0)
    slope = torch.where(ratio > 0, nonzero.log1p() / nonzero, 1 - ratio / 2)
    return (1 + dim / degrees_of_freedom) * distance * slope / 2


def energy(
    log_determinant: Tensor, distance: Tensor, degrees_of_freedom: Tensor, dim: int | Tensor
) -> Tensor:
    """−log p from log|S| and rᵀS^-1r of n dimensions, each (...); see negative_log_likelihood."""
    gaussian_part = (dim * gaussian.LOG_2PI + log_determinant) / 2
    tail = tail_energy(distance, degrees_of_freedom, dim)
    return gaussian_part - log_normaliser(degrees_of_freedom, dim) + tail


@full_precision
def negative_log_likelihood(
    residual: Tensor,
    scale: Tensor | None = None,
    degrees_of_freedom: float | Tensor = torch.inf,
    mask: Tensor | None = None,
    *,
    scale_tril: Tensor | None = None,
) -> Tensor:
    """−log p(r) = ½(n log 2π + log|S|) − log_normaliser + (ν + n)/2·log(1 + rᵀS^-1r/ν).

    n is the number of dimensions present.

    Shapes: residual (..., d), scale S or its Cholesky factor scale_tril (..., d, d),
    degrees_of_freedom (...) -> (...).
    """
    factor = either_cholesky(scale, scale_tril, mask)
    dim = factor.shape[-1]
    nu = _as_tensor(degrees_of_freedom, factor)
    residual = marginal_residual(residual, dim, mask)
    distance = whiten(factor, residual).square().sum(-1)
    count = count_present(mask, dim, factor)
    likelihood = energy(cholesky_log_determinant(factor), distance, nu, count)
    return explain_nan(likelihood, residual=residual)


def predictive_nll(
    residual: Tensor,
    covariance: Tensor,
    degrees_of_freedom: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """−log p(r) of a prediction with covariance Σ: a Student-t where ν is given, else a Gaussian.

    Shapes: residual (..., d), covariance (..., d, d), degrees_of_freedom (...) > 2 -> (...).
    """
    if degrees_of_freedom is None:
        return gaussian.negative_log_likelihood(residual, covariance, mask)
    scale = scale_from_covariance(covariance, degrees_of_freedom)
    return negative_log_likelihood(residual, scale, degrees_of_freedom, mask)


@full_precision
def condition(
    mean: Tensor,
    scale: Tensor,
    degrees_of_freedom: float | Tensor,
    index: Sequence[int] | Tensor,
    values: Sequence[float] | Tensor,
    query: Sequence[int] | Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, scale and degrees of freedom of y[query] given y[index] = values.

    The mean is the Gaussian's. With q the squared Mahalanobis distance of the n given values,
    ν' = ν + n and S' = (ν + q)/(ν + n)·(Sqq − Sqo Soo^-1 Soq): given values that were improbable
    widen what is not yet known, and probable ones narrow it. query defaults to the rest.

    Shapes: mean (..., d), scale (..., d, d), degrees_of_freedom (...), index (n,),
    values (..., n) -> (..., q), (..., q, q), (...).
    """
    nu = _as_tensor(degrees_of_freedom, scale)
    mean_rest, gaussian_scale = gaussian.condition(mean, scale, index, values, query)
    given = gaussian.check_index(index, scale.shape[-1], 'index', scale.device)
    shift = torch.as_tensor(values, dtype=mean.dtype, device=mean.device) - mean[..., given]
    distance = gaussian.mahalanobis_squared(shift, scale[..., given, :][..., given])
    count = given.numel()
    widened = (1 + distance / nu) / (1 + count / nu)
    return mean_rest, gaussian_scale * widened[..., None, None], nu + count


@full_precision
def sample(
    mean: Tensor,
    scale: Tensor,
    degrees_of_freedom: float | Tensor,
    count: int,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draws μ + Lε·√(ν/χ²_ν), one χ² for all dimensions of a draw.

    Shapes: mean (..., d), scale (..., d, d), degrees_of_freedom (...) -> (count, ..., d).
    """
    dim = check_square(scale, 'scale')
    check_vector(mean, dim, 'mean')
    nu = _as_tensor(degrees_of_freedom, scale)
    batch = check_broadcastable(
        mean=mean.shape[:-1], scale=scale.shape[:-2], degrees_of_freedom=nu.shape
    )
    centred = gaussian.sample(mean.new_zeros(*batch, dim), scale, count, generator)
    shape = torch.where(nu.isinf(), 1.0, nu / 2).expand(count, *batch).contiguous()
    spread = (shape / torch._standard_gamma(shape, generator=generator)).sqrt()
    spread = torch.where(nu.isinf(), 1.0, spread)
    return mean + centred * spread[..., None]


def radial_cdf(distance: Tensor, dim: int | Tensor, degrees_of_freedom: float | Tensor) -> Tensor:
    """P(rᵀS^-1r ≤ q) = F_{n,ν}(q/n), χ²_n at ν = ∞; without gradient.

    Shapes: distance q, dim n and degrees_of_freedom broadcast to (...) -> (...).
    """
    nu = _as_tensor(degrees_of_freedom, distance)
    q, n, v = (_array(value) for value in (distance, dim, nu))
    finite = np.where(np.isinf(v), 1.0, v)
    heavy = special.betainc(n / 2, finite / 2, q / (q + finite))
    value = np.where(np.isinf(v), special.gammainc(n / 2, q / 2), heavy)
    return torch.as_tensor(value, dtype=distance.dtype, device=distance.device)


def radial_quantile(level: float, dim: int | Tensor, degrees_of_freedom: Tensor) -> Tensor:
    """The q with P(rᵀS^-1r ≤ q) = level: n·F_{n,ν}^-1(level), χ²_n at ν = ∞; without gradient.

    In two dimensions it is ν·((1 − level)^(−2/ν) − 1). Of whole numbers ν it is in float64.

    Shapes: dim n and degrees_of_freedom broadcast to (...) -> (...).
    """
    if not 0 < level < 1:
        raise ValueError(f'level: expected a probability between 0 and 1, got {level}')
    check_degrees_of_freedom(degrees_of_freedom)
    n, v = _array(dim), _array(degrees_of_freedom)
    finite = np.where(np.isinf(v), 1.0, v)
    # q/(q + ν) and ν/(q + ν): the smaller of the two keeps its digits.
    part = special.betaincinv(n / 2, finite / 2, level)
    rest = special.betaincinv(finite / 2, n / 2, 1 - level)
    heavy = finite * np.where(part < 0.5, part / (1 - np.minimum(part, 0.5)), (1 - rest) / rest)
    value = np.where(np.isinf(v), 2 * special.gammaincinv(n / 2, level), heavy)
    like = degrees_of_freedom
    dtype = like.dtype if like.is_floating_point() else torch.float64
    return torch.as_tensor(value, dtype=dtype, device=like.device)


def marginal_cdf(deviation: Tensor, degrees_of_freedom: Tensor) -> Tensor:
    """P(t ≤ z) of one dimension, z = r/√S_ii; without gradient. Shapes: (...), (...) -> (...)."""
    check_degrees_of_freedom(degrees_of_freedom)
    z, v = _array(deviation), _array(degrees_of_freedom)
    heavy = special.stdtr(np.where(np.isinf(v), 1.0, v), z)
    value = np.where(np.isinf(v), special.ndtr(z), heavy)
    return torch.as_tensor(value, dtype=deviation.dtype, device=deviation.device)


def _array(value: float | Tensor) -> np.ndarray:
    if isinstance(value, Tensor):
        return value.detach().cpu().double().numpy()
    return np.asarray(value, dtype=np.float64)
