"""KL divergence of Student-t distributions, by quadrature: it has no closed form.

Axes: d dimensions, J nodes of the variable that makes a Student-t a mixture of Gaussians.
"""

import math

import torch
from torch import Tensor

from hetpose.ops import gaussian
from hetpose.ops.marginal import count_present, marginal_cholesky, marginal_residual, whiten
from hetpose.ops.spd import cholesky_log_determinant
from hetpose.ops.student import (
    check_degrees_of_freedom,
    log_normaliser,
    scale_from_covariance,
    unchecked_variance_ratio,
)
from hetpose.ops.validation import check_square, check_vector

# The integrand in log t is analytic in a strip of half-width π/2: the trapezoid's error is about
# exp(−π²/step), below rounding.
STEP = 0.3
NODES = torch.arange(-60.0, 4.0, STEP, dtype=torch.float64)
MIXING_STEP = 0.25
# A larger ν of p is taken for this one; the two differ by less than the quadrature does.
LARGEST = 1e9


def expected_log_tail(variances: Tensor, offset: Tensor, degrees_of_freedom: Tensor) -> Tensor:
    """E log(1 + ‖X‖²/ν) for independent X_i ~ N(offset_i, variances_i), without sampling.

    From log(1 + q) = ∫ (1 − exp(−tq)) exp(−t)/t dt and the closed form of E exp(−t‖X‖²), by the
    trapezoid rule in log t.

    Shapes: variances and offset (..., d), degrees_of_freedom (...) -> (...).
    """
    unit = degrees_of_freedom[..., None]
    variances, squares = variances / unit, offset.square() / unit
    total = torch.zeros_like(variances[..., 0] + squares[..., 0])
    for node in NODES.tolist():
        t = math.exp(node)
        spread = 2 * t * variances
        exponent = -(spread.log1p() / 2 + t * squares / (1 + spread)).sum(-1)
        total = total - torch.expm1(exponent) * math.exp(-t)
    return total * STEP


def _as_float64(degrees_of_freedom: float | Tensor, like: Tensor) -> Tensor:
    nu = torch.as_tensor(degrees_of_freedom, dtype=torch.float64, device=like.device)
    check_degrees_of_freedom(nu)
    return nu


def _own_tail(nu: Tensor, count: int | Tensor) -> Tensor:
    """(ν + n)/2·E log(1 + q/ν) of a Student-t under itself, n/2 at ν = ∞."""
    nu = nu.clamp(max=LARGEST)
    ends = torch.digamma((nu + count) / 2) - torch.digamma(nu / 2)
    # The difference of two large digammas loses what its first terms keep.
    far = torch.log1p(count / nu) + count / (nu * (nu + count))
    return (nu + count) / 2 * torch.where(nu > 1e5, far, ends)


@torch.no_grad()
def kl_divergence(
    mean_p: Tensor,
    scale_p: Tensor,
    degrees_of_freedom_p: float | Tensor,
    mean_q: Tensor,
    scale_q: Tensor,
    degrees_of_freedom_q: float | Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """KL(p ‖ q) of Student-t distributions; ν = ∞ stands for a Gaussian. Without gradient.

    −H(p) + E_p[−log q]. Given w = ν/χ²_ν, p is a Gaussian with covariance w·S_p, and the expected
    tail of q is ``expected_log_tail``, of which the mean over w is taken. The tail of a Gaussian q
    has a closed form; it is infinite for ν_p ≤ 2, where p has no covariance.

    Shapes: means (..., d), scales (..., d, d), degrees of freedom (...) -> (...), in float64.
    """
    dim = check_square(scale_p, 'scale_p')
    check_square(scale_q, 'scale_q')
    for name, mean in (('mean_p', mean_p), ('mean_q', mean_q)):
        check_vector(mean, dim, name)
    nu_p, nu_q = (_as_float64(v, scale_q) for v in (degrees_of_freedom_p, degrees_of_freedom_q))
    factor_p = marginal_cholesky(scale_p.double(), mask, 'scale_p')
    factor_q = marginal_cholesky(scale_q.double(), mask, 'scale_q')
    count = count_present(mask, dim, factor_p)
    ratio = torch.linalg.solve_triangular(factor_q, factor_p, upper=False)
    shift = whiten(factor_q, marginal_residual(mean_p.double() - mean_q.double(), dim, mask))
    # A missing dimension has no variance and no offset here: it adds nothing to the distance.
    seen = ratio if mask is None else torch.where(mask[..., None], ratio, 0.0)
    variances, axes = torch.linalg.eigh(seen @ seen.mT)
    offset = (axes.mT @ shift[..., None])[..., 0]
    tail = _expected_tail(variances.clamp(min=0), offset, nu_p, nu_q, count)
    difference = -cholesky_log_determinant(ratio) / 2
    normalisers = log_normaliser(nu_p, count) - log_normaliser(nu_q, count)
    return difference + normalisers + tail - _own_tail(nu_p, count)


def kl_from_gaussian(
    mean_p: Tensor,
    covariance_p: Tensor,
    mean_q: Tensor,
    covariance_q: Tensor,
    degrees_of_freedom: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """KL(p ‖ q) of a Gaussian p from a prediction q, a Student-t where ν is given, else Gaussian.

    Shapes: means (..., d), covariances (..., d, d), degrees_of_freedom (...) > 2 -> (...).
    """
    if degrees_of_freedom is None:
        return gaussian.kl_divergence(mean_p, covariance_p, mean_q, covariance_q, mask)
    scale = scale_from_covariance(covariance_q, degrees_of_freedom)
    return kl_divergence(mean_p, covariance_p, torch.inf, mean_q, scale, degrees_of_freedom, mask)


def _expected_tail(
    variances: Tensor, offset: Tensor, nu_p: Tensor, nu_q: Tensor, count: int | Tensor
) -> Tensor:
    """E (ν_q + n)/2·log(1 + ‖X‖²/ν_q), ½ E ‖X‖² at ν_q = ∞; X as in ``_mixed_tail``. -> (...)."""
    total = variances.sum(-1)
    ratio = torch.where(nu_p > 2, unchecked_variance_ratio(nu_p), torch.inf)
    gaussian_tail = (torch.where(total > 0, ratio * total, 0.0) + offset.square().sum(-1)) / 2
    endless = nu_q.isinf()
    if bool(endless.all()):
        return gaussian_tail
    finite = torch.where(endless, 1.0, nu_q)
    heavy = (finite + count) / 2 * _mixed_tail(variances, offset, nu_p, finite)
    return torch.where(endless, gaussian_tail, heavy)


def _mixing(nu: Tensor, growth: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes of w = ν/χ²_ν and their probabilities, by the trapezoid rule in log w: (..., J).

    With a = ν/2 the density of x = log(1/w) is exp(a(x − exp x)) up to a constant; the nodes span
    where it is above exp(−40) of its largest value, and further where what is integrated grows
    with w, by exp(``growth``) (...) at most.
    """
    a, depth = nu[..., None] / 2, 40 + growth[..., None]
    left = (2 * depth / a).sqrt() + depth / a
    right = torch.log1p(left)
    nodes = int(((left + right) / MIXING_STEP).max().clamp(min=200))
    share = torch.linspace(0, 1, nodes, dtype=nu.dtype, device=nu.device)
    x = right * share - left * (1 - share)
    weights = (a * (x - torch.expm1(x))).softmax(-1)
    return torch.exp(-x), weights


def _mixed_tail(variances: Tensor, offset: Tensor, nu_p: Tensor, nu_q: Tensor) -> Tensor:
    """E log(1 + ‖X‖²/ν_q), X = offset + √(w·variances)·Z and w = ν_p/χ². Shapes: -> (...)."""
    if bool((nu_p >= LARGEST).all()):
        return expected_log_tail(variances, offset, nu_q)
    growth = (nu_q / variances.amax(-1).clamp(min=torch.finfo(nu_q.dtype).tiny)).log1p()
    w, weights = _mixing(nu_p.clamp(max=LARGEST), growth)
    given_w = expected_log_tail(
        w[..., None] * variances[..., None, :], offset[..., None, :], nu_q[..., None]
    )
    return (weights * given_w).sum(-1)
