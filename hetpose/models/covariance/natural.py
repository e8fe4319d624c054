"""Natural parameters of a univariate Gaussian."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from mmpose.registry import MODELS
from torch import Tensor
from torch.nn.functional import softplus

from hetpose.models.covariance.base import CovarianceParameterisation, inverse_softplus
from hetpose.ops.covariance import Covariance

if TYPE_CHECKING:
    from hetpose.ops.taylor.terms import TaylorTerms

SMALLEST_PRECISION = 1e-6  # keeps σ² finite when softplus underflows


@MODELS.register_module()
class NaturalCovariance(CovarianceParameterisation):
    """η2 = −1/(2σ²) = −softplus(raw)/2 and μ = η1 σ², η1 the mean network's output; d = 1 only.

    σ² = 1/softplus(raw) + floor.
    """

    only_dim = 1
    diagonal = True
    relocates = True

    def num_outputs(self, dim: int) -> int:
        return dim

    def identity_outputs(self, dim: int) -> Tensor:
        return torch.full((dim,), inverse_softplus(1.0))

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        self.check_dim(dim)
        variances = 1 / (softplus(raw) + SMALLEST_PRECISION) + self.floor
        deviations = variances.sqrt()[..., None]
        return Covariance(scale_tril=deviations, root=deviations, variances=variances)

    def location(self, raw_mean: Tensor, covariance: Covariance) -> Tensor:
        return raw_mean * covariance.variances
