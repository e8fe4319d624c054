"""Covariance parameterisations: from raw network outputs to a positive definite matrix."""

from hetpose.models.covariance.anchored import (
    AnchoredCovariance,
    ConstantCovariance,
    ResidualAnchor,
)
from hetpose.models.covariance.base import CovarianceParameterisation
from hetpose.models.covariance.cholesky import CholeskyCovariance
from hetpose.models.covariance.diagonal import DiagonalCovariance
from hetpose.models.covariance.factor import FactorCovariance
from hetpose.models.covariance.low_rank import LowRankAnchoredCovariance
from hetpose.models.covariance.natural import NaturalCovariance
from hetpose.models.covariance.precision import PrecisionCovariance
from hetpose.models.covariance.root import RootCovariance
from hetpose.models.covariance.student import StudentCovariance
from hetpose.models.covariance.taylor_induced import TaylorInducedCovariance

__all__ = [
    'AnchoredCovariance',
    'CholeskyCovariance',
    'ConstantCovariance',
    'CovarianceParameterisation',
    'DiagonalCovariance',
    'FactorCovariance',
    'LowRankAnchoredCovariance',
    'NaturalCovariance',
    'PrecisionCovariance',
    'ResidualAnchor',
    'RootCovariance',
    'StudentCovariance',
    'TaylorInducedCovariance',
]
