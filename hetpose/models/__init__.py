"""Heads, regressors, covariance parameterisations and objectives."""

from hetpose.models import backbones, codecs, covariance, heads, losses, regressors

__all__ = ['backbones', 'codecs', 'covariance', 'heads', 'losses', 'regressors']
