"""Tabular and synthetic regression data, served in whole batches."""

from hetpose.datasets.regression.bivariate import BivariateSource
from hetpose.datasets.regression.copula import CopulaSource
from hetpose.datasets.regression.sinusoid import SINUSOIDS, SinusoidSource
from hetpose.datasets.regression.source import (
    PROTOCOLS,
    Arrays,
    RegressionDataset,
    RegressionSource,
    load_splits,
    whole_batch,
)
from hetpose.datasets.regression.uci import UCI_SETS, UCISource

__all__ = [
    'PROTOCOLS',
    'SINUSOIDS',
    'UCI_SETS',
    'Arrays',
    'BivariateSource',
    'CopulaSource',
    'RegressionDataset',
    'RegressionSource',
    'SinusoidSource',
    'UCISource',
    'load_splits',
    'whole_batch',
]
