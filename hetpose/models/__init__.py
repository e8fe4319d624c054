"""Heads, regressors, covariance parameterisations and objectives."""

from hetpose.models import codecs, covariance, heads, losses, regressors

__all__ = ['codecs', 'covariance', 'heads', 'losses', 'regressors']
