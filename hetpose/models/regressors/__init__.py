"""Mean and covariance networks for vector regression."""

from hetpose.models.regressors.diverged import DivergedError
from hetpose.models.regressors.heteroscedastic import (
    FreeVector,
    HeteroscedasticRegressor,
    build_networks,
    default_width,
)

__all__ = [
    'DivergedError',
    'FreeVector',
    'HeteroscedasticRegressor',
    'build_networks',
    'default_width',
]
