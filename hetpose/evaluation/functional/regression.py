"""Per-sample scores of a predicted Gaussian.

Axes: B samples, d targets.
"""

from __future__ import annotations

from torch import Tensor

from hetpose.ops.gaussian import kl_divergence, negative_log_likelihood, tac
from hetpose.ops.spd import safe_cholesky, to_float64
from hetpose.ops.wasserstein import w2_squared


def regression_scores(
    target: Tensor,
    mean: Tensor,
    covariance: Tensor | None = None,
    true_mean: Tensor | None = None,
    true_covariance: Tensor | None = None,
) -> dict[str, Tensor]:
    """Scores (B,) by name; those that need something unknown are left out.

    mse = ‖r‖²/d, nll = ½(d log 2π + log|Σ| + rᵀΛr), tac = mean_i |y_i − E[y_i | y_−i]|,
    kl = KL(true ‖ predicted), w2 = squared 2-Wasserstein distance to the true distribution.

    Shapes: target, mean, true_mean (B, d); covariance, true_covariance (B, d, d).
    """
    residual = target - mean
    scores = {'mse': residual.square().mean(-1)}
    if covariance is None:
        return scores
    covariance = to_float64(covariance)  # the likelihood of the smallest eigenvalues decides
    residual = residual.double()
    scores['nll'] = negative_log_likelihood(residual, covariance)
    scores['tac'] = tac(residual, covariance)
    if true_mean is not None and true_covariance is not None:
        true_covariance = to_float64(true_covariance, 'true_covariance')
        error = true_mean.double() - mean.double()
        zero = error.new_zeros(error.shape)
        scores['kl'] = kl_divergence(error, true_covariance, zero, covariance)
        roots = safe_cholesky(covariance), safe_cholesky(true_covariance, 'true_covariance')
        scores['w2'] = w2_squared(*roots, residual=error)
    return scores
