"""Heads, regressors, covariance parameterisations and objectives."""

from hetpose.models import covariance, losses

__all__ = ['covariance', 'losses']
