"""Errors and likelihoods of predicted poses.

Axes: N samples, K joints, d = 2K interleaved coordinates. A mask is True where a coordinate is
annotated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from hetpose.evaluation.functional.calibration import split_blocks, squared_radius
from hetpose.ops.distribution import Distribution
from hetpose.ops.gaussian import conditional_residual, mahalanobis_squared
from hetpose.ops.moments import pair_sums, residual_covariance
from hetpose.ops.spd import safe_cholesky
from hetpose.ops.student import predictive_nll
from hetpose.ops.student_divergence import kl_from_gaussian
from hetpose.ops.wasserstein import w2_squared


def squared_errors(errors: Distribution) -> Tensor:
    """r² of every coordinate, (N, 2K); NaN where it is missing."""
    return torch.where(errors.present, errors.residual.square(), torch.nan)


def negative_log_likelihoods(errors: Distribution) -> Tensor:
    """½(n log 2π + log|Σ| + rᵀΛr) of every sample, (N,), n the present coordinates.

    For Student-t predictions it is that of the Student-t.
    """
    return predictive_nll(
        errors.residual, errors.covariance, errors.degrees_of_freedom, errors.present
    )


def conditional_lengths(errors: Distribution) -> Tensor:
    """|y_k − E[y_k | other present joints]| of every joint, (N, K); NaN where it is missing."""
    residual = conditional_residual(errors.residual, errors.covariance, 2, errors.present)
    return torch.where(errors.present[:, ::2], residual.norm(dim=-1), torch.nan)


def inside_ellipses(errors: Distribution, level: float) -> Tensor:
    """Whether rᵀΣ_k⁻¹r ≤ −2 log(1 − level), the exact χ²₂ quantile, of every joint; of Student-t
    predictions within theirs. 1, 0, or NaN where the joint is missing: (N, K).
    """
    if not 0 < level < 1:
        raise ValueError(f'level must lie in (0, 1), got {level}')
    residual, covariance, mask = split_blocks(errors.residual, errors.covariance, errors.present)
    distance = mahalanobis_squared(residual, covariance, mask)
    radius: float | Tensor = -2 * math.log(1 - level)
    if errors.degrees_of_freedom is not None:
        radius = squared_radius(level, 2, errors.degrees_of_freedom[:, None])
    return torch.where(mask.all(-1), (distance <= radius).double(), torch.nan)


def correct_keypoints(residual: Tensor, mask: Tensor, size: Tensor, threshold: float) -> float:
    """Share of the present joints with |r_k| ≤ threshold · size (N,); without a size, left out.

    Shapes: residual and mask (N, 2K).
    """
    distance = residual.unflatten(-1, (-1, 2)).norm(dim=-1)
    present = mask[:, ::2] & size.isfinite()[:, None] & (size > 0)[:, None]
    close = distance <= threshold * size[:, None]
    return close[present].double().mean().item()


def divergences_to_truth(errors: Distribution) -> tuple[Tensor, Tensor]:
    """KL(N(0, Σ_true) ‖ N(0, Σ)) and W2² between the two over the present joints, (N,) each.

    The true mean is not part of it: the label is one draw around it. Of Student-t predictions the
    KL is their own, and W2² that of the Gaussians with the same moments.
    """
    assert errors.true_factor is not None
    truth = errors.true_factor @ errors.true_factor.mT
    zero = torch.zeros_like(errors.mean)
    nu = errors.degrees_of_freedom
    kl = kl_from_gaussian(zero, truth, zero, errors.covariance, nu, errors.present)
    factor = safe_cholesky(errors.covariance)
    return kl, w2_squared(factor, errors.true_factor, mask=errors.present)


def divergence_to_truth(errors: Distribution) -> tuple[float, float]:
    """Mean KL and mean W2² to the truth."""
    kl, w2 = divergences_to_truth(errors)
    return kl.mean().item(), w2.mean().item()


def cross_fit(residual: Tensor, mask: Tensor, folds: int = 2) -> tuple[Tensor, Tensor]:
    """The covariance of the residuals outside each fold, and the fold of each sample.

    The homoscedastic model at its best: a sample is judged by residuals of the very set that it
    belongs to, though never by its own. Shapes: (N, d), (N, d) → (folds, d, d), (N,).
    """
    count = len(residual)
    if count < folds:
        raise ValueError(f'{count} samples cannot be split into {folds} folds')
    fold = torch.arange(count, device=residual.device) % folds
    others = [pair_sums(residual[fold != i], mask[fold != i]) for i in range(folds)]
    fitted = [residual_covariance(*sums, shrink=True) for sums in others]
    return torch.stack(fitted), fold


def pose_scores(errors: Distribution, levels: Sequence[float]) -> dict[str, Tensor]:
    """The part of every sample in the metrics: rows (N,), (N, K) or (N, 2K), NaN where missing.

    MSE, NLL, TAC, coverage, and KL and W2 where the truth is known, in one unit.
    """
    scores = {
        'mse': squared_errors(errors),
        'nll': negative_log_likelihoods(errors),
        'tac': conditional_lengths(errors),
    }
    for level in levels:
        scores[f'coverage_{round(100 * level)}'] = inside_ellipses(errors, level)
    if errors.true_factor is not None:
        scores['kl'], scores['w2'] = divergences_to_truth(errors)
    return scores


def score_means(scores: dict[str, Tensor]) -> dict[str, float]:
    """The metrics of scored samples. TAC is a mean over joints, however often each is present."""
    tac = scores['tac'].nanmean(0)
    return {
        name: (tac if name == 'tac' else value).nanmean().item() for name, value in scores.items()
    }
