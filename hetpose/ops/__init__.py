"""Pure torch kernels: no registry, no state, any leading batch shape."""

from hetpose.ops.affine import transform_covariance, transform_factor, transform_points
from hetpose.ops.gaussian import (
    calibrated_kl,
    condition,
    conditional_residual,
    kl_divergence,
    mahalanobis_squared,
    negative_log_likelihood,
    recalibrate,
    sample,
    tac,
)
from hetpose.ops.soft_argmax import soft_argmax
from hetpose.ops.spd import (
    NotPositiveDefiniteError,
    add_floor,
    log_determinant,
    mask_matrix,
    safe_cholesky,
    solve,
    symmetric_sqrt,
    to_float64,
)
from hetpose.ops.wasserstein import w2_squared, w2_squared_bound

__all__ = [
    'NotPositiveDefiniteError',
    'add_floor',
    'calibrated_kl',
    'condition',
    'conditional_residual',
    'kl_divergence',
    'log_determinant',
    'mahalanobis_squared',
    'mask_matrix',
    'negative_log_likelihood',
    'recalibrate',
    'safe_cholesky',
    'sample',
    'soft_argmax',
    'solve',
    'symmetric_sqrt',
    'tac',
    'to_float64',
    'transform_covariance',
    'transform_factor',
    'transform_points',
    'w2_squared',
    'w2_squared_bound',
]
