"""Post-hoc recalibration Σ → αΣ + βI on held-out samples: by likelihood, or by coverage."""

from __future__ import annotations

import math

import torch
from scipy.optimize import brentq, minimize_scalar
from torch import Tensor

from hetpose.evaluation.functional.calibration import present, split_blocks
from hetpose.evaluation.functional.conformal import scale_scores
from hetpose.ops.spd import mask_matrix, to_float64
from hetpose.ops.student import tail_energy, variance_ratio

LEAST_LOG = -650.0  # of a scale; its exponential is still a number
# The share of βI in the whole covariance is searched on this grid of logits, and refined around
# the best.
LOGITS = torch.linspace(-12, 12, 97, dtype=torch.float64)


def fit_scale(residual: Tensor, covariance: Tensor, mask: Tensor | None = None) -> float:
    """The α of highest likelihood of αΣ: mean of rᵀΛr over all present dimensions (closed form).

    Shapes: (N, d), (N, d, d), mask (N, d).
    """
    return fit_scale_and_floor(residual, covariance, mask, floor=False)[0]


def _spectrum(residual: Tensor, covariance: Tensor, here: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues of the present part of Σ, the squared residual along its axes, and the number of
    the sample, flattened over the samples.

    Shapes: (N, d), (N, d, d), (N, d) → (P,), (P,), (P,), P the number of present dimensions. In
    the eigenbasis αΣ + βI stays diagonal, so that one decomposition serves every α and β.
    """
    covariance = to_float64(mask_matrix(covariance, here))  # names a sample that is not definite
    # A missing dimension gets the eigenvalue −1 instead of 1, to be told apart: a covariance has
    # none below zero.
    values, axes = torch.linalg.eigh(covariance - 2 * torch.diag_embed((~here).double()))
    along = (axes.mT @ residual.double().where(here, 0.0)[..., None]).squeeze(-1)
    kept = values > -0.5
    # Rounding may take the smallest eigenvalue of a positive definite matrix to zero and below.
    least = torch.finfo(values.dtype).eps * values.abs().amax(-1, keepdim=True)
    return values.maximum(least)[kept], along[kept].square(), kept.nonzero()[:, 0]


def fit_scale_and_floor(
    residual: Tensor,
    covariance: Tensor,
    mask: Tensor | None = None,
    floor: bool = True,
    degrees_of_freedom: Tensor | None = None,
) -> tuple[float, float]:
    """α, β ≥ 0 of highest likelihood of αΣ + βI, over all present dimensions of all samples.

    With αΣ + βI = s·((1 − c)Σ + cτI), τ the mean variance, the best s given the share c is in
    closed form (as for ``fit_scale``), which leaves one bounded variable; it is searched on a grid
    first, because the likelihood need not be unimodal in c. β stays 0 unless it gains more
    likelihood than a second parameter should (BIC). Where ν is given, the likelihood is the
    Student-t's with covariance αΣ + βI, and s solves an equation. Shapes: (N, d), (N, d, d), mask
    (N, d), degrees_of_freedom (N,).
    """
    here = present(residual, mask)
    if not bool(here.any()):
        raise ValueError('mask leaves nothing to fit on')
    variances, squares, sample = _spectrum(residual, covariance, here)
    unit = variances.mean()
    tails = None
    if degrees_of_freedom is not None:
        tails = _Tails(degrees_of_freedom.double(), here.sum(-1), sample)

    def profile(share: Tensor) -> tuple[Tensor, Tensor]:
        """Negative log-likelihood per dimension (up to constants) and s, for shares (C, 1)."""
        mixed = (1 - share) * variances + share * unit
        if tails is not None:
            scale, cost = tails.fit((squares / mixed)[0])
            return (scale.log() + mixed.log().mean() + cost)[None], scale[None]
        scale = (squares / mixed).mean(-1)
        tiny = torch.finfo(scale.dtype).tiny
        return scale.clamp(min=tiny).log() + mixed.log().mean(-1), scale

    zero = torch.zeros(1, 1, dtype=unit.dtype, device=unit.device)
    share = zero
    if floor:
        found = _best_share(profile, zero)
        # β costs a parameter (BIC): without it, noise splits between α and β and neither is right.
        gain = (profile(zero)[0] - profile(found)[0]).item() * len(variances) / 2
        share = found if gain > math.log(len(variances)) / 2 else zero
    scale = profile(share)[1].item()
    return scale * (1 - share.item()), scale * share.item() * unit.item()


class _Tails:
    """The part of a Student-t's likelihood that the scale s of Σ decides.

    Args:
        nu: (N,) degrees of freedom.
        count: (N,) present dimensions.
        sample: (P,) the sample of every present dimension.
    """

    def __init__(self, nu: Tensor, count: Tensor, sample: Tensor) -> None:
        self.nu, self.count, self.sample = nu, count.double(), sample

    def fit(self, squares: Tensor) -> tuple[Tensor, Tensor]:
        """The best s, and what the tails then cost per dimension, from r²/variance (P,).

        With q the squared Mahalanobis distance for the scale matrix, s solves
        Σ (ν + n)·q/(νs + q) = Σ n, of which the left side falls as s grows.
        """
        distance = torch.zeros_like(self.nu).index_add(0, self.sample, squares)
        distance = distance * variance_ratio(self.nu)
        inverse = 1 / self.nu
        weight, total = 1 + self.count * inverse, self.count.sum()

        def excess(log_scale: float) -> float:
            ratio = distance / (math.exp(log_scale) + distance * inverse)
            return float((weight * ratio).sum() - total)

        largest = float(((weight * distance).sum() / total).clamp(min=1e-290).log())
        smallest = largest - 1.0
        while excess(smallest) <= 0 and smallest > LEAST_LOG:
            smallest -= 5.0
        root = largest + 1e-9  # the root itself where no tail is heavy, up to rounding
        if excess(smallest) <= 0:
            root = smallest  # perfect means: no scale is too small
        elif excess(root) < 0:
            root = brentq(excess, smallest, root, xtol=1e-12)
        scale = torch.tensor(math.exp(root), dtype=torch.float64, device=distance.device)
        cost = 2 * tail_energy(distance / scale, self.nu, self.count).sum() / total
        return scale, cost


def _best_share(profile, zero: Tensor) -> Tensor:
    """The share in [0, 1] of the smallest profile: grid, bounded refinement, and the two ends."""
    values = torch.cat([profile(zero + torch.sigmoid(logit))[0] for logit in LOGITS])
    best = int(values.argmin())
    low, high = LOGITS[max(best - 1, 0)].item(), LOGITS[min(best + 1, len(LOGITS) - 1)].item()
    found = minimize_scalar(
        lambda logit: profile(zero + torch.sigmoid(zero + logit))[0].item(),
        bounds=(low, high),
        method='bounded',
        options={'xatol': 1e-6},
    )
    candidates = [zero, zero + 1, torch.sigmoid(zero + found.x)]
    return min(candidates, key=lambda share: profile(share)[0].item())


def fit_per_block(
    residual: Tensor,
    covariance: Tensor,
    mask: Tensor | None = None,
    block: int = 2,
    floor: bool = True,
    degrees_of_freedom: Tensor | None = None,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """α_k and β_k of every block, each by the likelihood of the block's own marginal.

    The correlations between blocks are kept: Σ → D^½ΣD^½ + diag(β). Shapes: (N, d), (N, d, d),
    mask (N, d) → K, K.
    """
    residual, covariance, here = split_blocks(residual, covariance, mask, block)
    alphas, betas = [], []
    for k in range(residual.shape[-2]):
        if not bool(here[:, k].any()):
            raise ValueError(f'block {k} is missing from every sample: nothing to fit on')
        alpha, beta = fit_scale_and_floor(
            residual[:, k], covariance[:, k], here[:, k], floor, degrees_of_freedom
        )
        alphas.append(alpha)
        betas.append(beta)
    return tuple(alphas), tuple(betas)


def fit_coverage(
    residual: Tensor,
    covariance: Tensor,
    mask: Tensor | None = None,
    block: int = 2,
    level: float = 0.9,
    degrees_of_freedom: Tensor | None = None,
) -> float:
    """The α with which the blocks' ellipsoids of ``level`` hold that share of all present blocks.

    The likelihood of a person has one scale for all joints. Where errors have other tails than the
    model, the best of it is not the one that the ellipses of single joints need.

    Shapes: (N, d), (N, d, d), mask (N, d), degrees_of_freedom (N,).
    """
    nu = None if degrees_of_freedom is None else degrees_of_freedom.double()[:, None]
    blocks = split_blocks(residual.double(), covariance.double(), mask, block)
    scores = scale_scores(*blocks, level, nu)
    known = scores[~scores.isnan()]
    if not len(known):
        raise ValueError('mask leaves nothing to fit on')
    least = torch.finfo(known.dtype).tiny  # of perfect means, which no α describes
    return known.quantile(level).clamp(min=least).item()
