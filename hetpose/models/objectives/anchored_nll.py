"""Likelihood with a prior around one covariance for all."""

from __future__ import annotations

import torch
from mmpose.registry import MODELS
from torch import Tensor

from hetpose.models.covariance.base import CovarianceParameterisation
from hetpose.models.objectives.base import Objective
from hetpose.ops.covariance import Covariance
from hetpose.ops.gaussian import LOG_2PI, kl_divergence
from hetpose.ops.marginal_terms import marginal_terms


@MODELS.register_module()
class AnchoredNLLObjective(Objective):
    """NLL(r; Σ) + prior · KL(N(0, Σ0) ‖ N(0, Σ)), Σ0 the anchor of the covariance.

    An inverse-Wishart prior: where the residuals' covariance is S(x), the optimum is
    (S(x) + prior · Σ0) / (1 + prior). However small the training residuals near x are, Σ stays
    above prior / (1 + prior) · Σ0, so that one outlier among new data does not undo the rest.

    Args:
        prior: what the anchor counts, in samples for each training sample.
    """

    def __init__(self, prior: float = 0.2) -> None:
        super().__init__()
        if not prior >= 0:
            raise ValueError(f'prior must not be negative, got {prior}')
        self.prior = prior

    def check(
        self, parameterisation: CovarianceParameterisation | None, dim: int | None = None
    ) -> None:
        super().check(parameterisation, dim)
        if not getattr(parameterisation, 'anchored', False):
            raise ValueError(
                f'{type(self).__name__} needs a covariance with an anchor, such as '
                f'AnchoredCovariance, got {type(parameterisation).__name__}'
            )

    def per_sample(
        self,
        residual: Tensor,
        covariance: Covariance | None,
        target_root: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        assert covariance is not None
        if covariance.anchor is None:
            raise ValueError(f'{type(self).__name__} needs a covariance with an anchor')
        if mask is not None and self.prior:
            terms = marginal_terms(covariance.factor, residual, covariance.anchor, mask)
            likelihood = (terms.dims * LOG_2PI + terms.log_determinant + terms.distance) / 2
            return (likelihood + self.prior * terms.divergence).to(residual)
        likelihood = covariance.negative_log_likelihood(residual, mask)
        zero = torch.zeros_like(residual)
        anchor = covariance.anchor.to(residual)
        return likelihood + self.prior * kl_divergence(
            zero, anchor, zero, covariance.matrix, mask=mask
        )
