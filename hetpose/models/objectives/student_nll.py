"""Student-t negative log-likelihood."""

from __future__ import annotations

import torch
from mmpose.registry import MODELS
from torch import Tensor

from hetpose.models.covariance.base import CovarianceParameterisation
from hetpose.models.objectives.base import Objective
from hetpose.ops import student
from hetpose.ops.covariance import Covariance
from hetpose.ops.gaussian import kl_divergence
from hetpose.ops.marginal_terms import marginal_terms
from hetpose.ops.spd import joint_blocks


@MODELS.register_module()
class StudentNLLObjective(Objective):
    """−log t_ν(r; S) + prior · KL(N(0, S0) ‖ N(0, S)), S0 the anchor of the scale, if it has one.

    A residual far away costs its logarithm, not its square, so that few gross errors do not decide
    the scale of the many small ones. Missing targets are marginalised.

    With ``marginals`` every joint's own likelihood counts too: + marginals · Σ_k −log t_ν(r_k;
    S_kk). A Student-t has one tail for the whole person, but often one limb errs grossly and the
    others do not. The whole then asks for a scale that is too small for the ellipse of a joint.

    Args:
        prior: what the anchor counts, in samples for each training sample; above 0 the covariance
            needs an anchor.
        marginals: what the joints' own likelihoods count.
        block: dimensions of a joint.
    """

    heavy_tailed = True

    def __init__(self, prior: float = 0.0, marginals: float = 0.0, block: int = 2) -> None:
        super().__init__()
        for name, value in (('prior', prior), ('marginals', marginals)):
            if not value >= 0:
                raise ValueError(f'{name} must not be negative, got {value}')
        self.prior, self.marginals, self.block = prior, marginals, block

    def check(
        self, parameterisation: CovarianceParameterisation | None, dim: int | None = None
    ) -> None:
        super().check(parameterisation, dim)
        if self.prior and not getattr(parameterisation, 'anchored', False):
            raise ValueError(f'{type(self).__name__} with a prior needs a scale with an anchor')
        if self.marginals and dim is not None and dim % self.block:
            raise ValueError(f'{dim} dimensions are no joints of {self.block} dimensions each')

    def per_sample(
        self,
        residual: Tensor,
        covariance: Covariance | None,
        target_root: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        assert covariance is not None
        loss = self._whole(residual, covariance, mask)
        if self.marginals:
            loss = loss + self.marginals * self._joints(residual, covariance, mask)
        return loss

    def _joints(self, residual: Tensor, covariance: Covariance, mask: Tensor | None) -> Tensor:
        """Σ_k −log t_ν(r_k; S_kk) (B,) of the joints."""
        nu = covariance.degrees_of_freedom
        assert nu is not None
        scale = joint_blocks(covariance.scale.matrix, self.block)
        parts = residual.unflatten(-1, (-1, self.block))
        here = None if mask is None else mask.unflatten(-1, (-1, self.block))
        return student.negative_log_likelihood(parts, scale, nu[..., None], here).sum(-1)

    def _whole(self, residual: Tensor, covariance: Covariance, mask: Tensor | None) -> Tensor:
        if mask is not None and self.prior:
            return self._masked(residual, covariance, mask)
        loss = covariance.negative_log_likelihood(residual, mask)
        if not self.prior:
            return loss
        scale = covariance.scale
        assert scale.anchor is not None
        zero, anchor = torch.zeros_like(residual), scale.anchor.to(residual)
        return loss + self.prior * kl_divergence(zero, anchor, zero, scale.matrix, mask=mask)

    def _masked(self, residual: Tensor, covariance: Covariance, mask: Tensor) -> Tensor:
        """The same with missing targets: likelihood and prior from one factorisation."""
        scale, nu = covariance.scale, covariance.degrees_of_freedom
        assert scale.anchor is not None
        assert nu is not None
        terms = marginal_terms(scale.factor, residual, scale.anchor, mask)
        likelihood = student.energy(terms.log_determinant, terms.distance, nu.double(), terms.dims)
        return (likelihood + self.prior * terms.divergence).to(residual)
