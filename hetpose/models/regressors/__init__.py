"""Mean and covariance networks for vector regression."""

from hetpose.models.regressors.diverged import DivergedError
from hetpose.models.regressors.heteroscedastic import HeteroscedasticRegressor
from hetpose.models.regressors.networks import FreeVector, build_networks

__all__ = ['DivergedError', 'FreeVector', 'HeteroscedasticRegressor', 'build_networks']
