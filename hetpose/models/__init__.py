"""Heads, regressors, covariance parameterisations and objectives."""

from hetpose.models import backbones, codecs, covariance, heads, objectives, regressors

__all__ = ['backbones', 'codecs', 'covariance', 'heads', 'objectives', 'regressors']
