"""Independent variances."""

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


@MODELS.register_module()
class DiagonalCovariance(CovarianceParameterisation):
    """Σ = diag(softplus(raw) + floor), raw outputs (B, d)."""

    diagonal = True

    def num_outputs(self, dim: int) -> int:
        return dim

    def identity_outputs(self, dim: int) -> Tensor:
        return torch.full((dim,), inverse_softplus(1.0))

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        variances = softplus(raw) + self.floor
        deviations = torch.diag_embed(variances.sqrt())
        return Covariance(scale_tril=deviations, root=deviations, variances=variances)
