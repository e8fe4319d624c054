"""Heads, regressors, covariance parameterisations and objectives."""

from hetpose.models import (
    backbones,
    codecs,
    covariance,
    data_preprocessor,
    heads,
    necks,
    objectives,
    regressors,
)

__all__ = [
    'backbones',
    'codecs',
    'covariance',
    'data_preprocessor',
    'heads',
    'necks',
    'objectives',
    'regressors',
]
