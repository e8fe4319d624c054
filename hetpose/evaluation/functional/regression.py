"""Per-sample scores of a predicted Gaussian.

Axes: B samples, d targets.
"""

from __future__ import annotations

from torch import Tensor

from hetpose.ops.gaussian import mahalanobis_squared, tac
from hetpose.ops.spd import safe_cholesky, to_float64
from hetpose.ops.student import predictive_nll
from hetpose.ops.student_divergence import kl_from_gaussian
from hetpose.ops.wasserstein import w2_squared


def regression_scores(
    target: Tensor,
    mean: Tensor,
    covariance: Tensor | None = None,
    true_mean: Tensor | None = None,
    true_covariance: Tensor | None = None,
    degrees_of_freedom: Tensor | None = None,
) -> dict[str, Tensor]:
    """Scores (B,) by name; those that need something unknown are left out.

    mse = ‖r‖²/d, nll = ½(d log 2π + log|Σ| + rᵀΛr), tac = mean_i |y_i − E[y_i | y_−i]|,
    mahalanobis = rᵀΛr/d (of a Gaussian), which is 1 on average where Σ has the right size,
    kl = KL(true ‖ predicted), w2 = squared 2-Wasserstein distance to the true distribution.

    Where the degrees of freedom ν are given, the prediction is a Student-t with covariance Σ: nll
    and kl are its own; w2 is that of the two Gaussians with the same moments, a lower bound.

    Shapes: target, mean, true_mean (B, d); covariance, true_covariance (B, d, d);
    degrees_of_freedom (B,).
    """
    residual = target - mean
    scores = {'mse': residual.square().mean(-1)}
    if covariance is None:
        return scores
    covariance = to_float64(covariance)  # the likelihood of the smallest eigenvalues decides
    residual = residual.double()
    scores['nll'] = predictive_nll(residual, covariance, degrees_of_freedom)
    scores['tac'] = tac(residual, covariance)
    if degrees_of_freedom is None:
        scores['mahalanobis'] = mahalanobis_squared(residual, covariance) / residual.shape[-1]
    if true_mean is not None and true_covariance is not None:
        true_covariance = to_float64(true_covariance, 'true_covariance')
        error = true_mean.double() - mean.double()
        zero = error.new_zeros(error.shape)
        scores['kl'] = kl_from_gaussian(
            error, true_covariance, zero, covariance, degrees_of_freedom
        )
        roots = safe_cholesky(covariance), safe_cholesky(true_covariance, 'true_covariance')
        scores['w2'] = w2_squared(*roots, residual=error)
    return scores
