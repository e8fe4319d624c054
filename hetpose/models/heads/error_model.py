"""A small network from what a frozen model computed to the covariance of its errors.

Axes: B batch, K joints, d = 2K, F pooled features, m principal components, E = m + 8K entries of
the evidence. Errors are in per cent of the longer side of the crop, which mean the same at every
size of the image and of the network's input.
"""

from __future__ import annotations

from typing import Any

import torch
from mmengine.model import BaseModel
from mmpose.registry import MODELS
from torch import Tensor, nn

from hetpose.models.covariance.base import CovarianceParameterisation
from hetpose.models.heads.covariance_branch import CovarianceBranch
from hetpose.models.objectives import Objective
from hetpose.models.phase import Phase, Switchable, same_meaning
from hetpose.ops import student
from hetpose.ops.covariance import Covariance
from hetpose.ops.spread import STATISTICS

UNITS = 100.0
"""Errors per longer side of the crop: per cent."""
CLIP = 5.0
"""Standard deviations beyond which evidence is cut: an image unlike all that were fitted on must
not send Σ anywhere."""


@MODELS.register_module()
class ErrorModel(Switchable, BaseModel):
    """Σ(evidence) of a frozen model's errors, and the objective that fits it.

    evidence = [P (pooled − mean), per-joint statistics], standardised, then a residual network,
    then the parameterisation. P (m, F) holds principal components; until ``set_projection`` gives
    them it is a fixed random projection.

    Args:
        joints: K.
        features: F.
        covariance, objective: configs.
        components: m, at most F.
        width, blocks: size of the network.
    """

    covariance_weights = ('branch.',)
    projection: Tensor
    feature_mean: Tensor

    def __init__(
        self,
        joints: int,
        features: int,
        covariance: dict,
        objective: dict,
        components: int = 48,
        width: int = 128,
        blocks: int = 1,
    ) -> None:
        super().__init__()
        self.joints, self.dim = joints, 2 * joints
        components = min(components, features)
        generator = torch.Generator().manual_seed(0)
        random = torch.randn(features, components, generator=generator)
        self.register_buffer('projection', torch.linalg.qr(random).Q.mT.contiguous())
        self.register_buffer('feature_mean', torch.zeros(features))
        size = components + STATISTICS * joints
        self.standardise: Any = nn.BatchNorm1d(size, affine=False, momentum=None)
        self.branch = CovarianceBranch(size, self.dim, covariance, width, blocks, spare=False)
        self.objective: Objective
        self._go_to(Phase(0, objective, covariance))

    @property
    def covariance(self) -> CovarianceParameterisation:
        """The parameterisation in force."""
        return self.branch.parameterisation

    def _train(self, phase: Phase) -> None:
        """Go on with another objective; the covariance's network fits its own only."""
        assert phase.covariance is not None
        if not same_meaning(phase.covariance, self.branch.config):
            raise ValueError('the covariance of a frozen model cannot be switched: fit it again')
        self.branch.switch(phase.covariance)
        built = MODELS.build(phase.objective)
        built.check(self.covariance, self.dim)
        self.objective = built.to(self.projection.device)

    @torch.no_grad()
    def set_projection(self, mean: Tensor, components: Tensor) -> None:
        """Take the features' mean (F,) and principal components (n, F), n ≤ m."""
        self.feature_mean.copy_(mean)
        self.projection.zero_()
        self.projection[: len(components)] = components

    @torch.no_grad()
    def set_scale(self, evidence: Tensor) -> None:
        """Standardise by the mean and the variance of evidence (N, E) from now on."""
        self.standardise.running_mean.copy_(evidence.mean(0))
        self.standardise.running_var.copy_(evidence.var(0))
        self.standardise.num_batches_tracked.fill_(1)

    def train(self, mode: bool = True) -> ErrorModel:
        """Keep the scale of the evidence, once it is known: that of the first epoch, or set."""
        super().train(mode)
        if self.standardise.num_batches_tracked > 0:
            self.standardise.eval()
        return self

    def evidence(self, pooled: Tensor, statistics: Tensor) -> Tensor:
        """Pooled features (B, F) and per-joint statistics (B, K, 8) → evidence (B, E)."""
        projected = (pooled - self.feature_mean) @ self.projection.mT
        return torch.cat([projected, statistics.flatten(1)], dim=-1)

    def distribution(self, evidence: Tensor, dtype: torch.dtype = torch.float32) -> Covariance:
        """Evidence (B, E) → Σ (B, d, d) of the errors, formed in ``dtype``."""
        standard = self.standardise(evidence).clamp(-CLIP, CLIP)
        return self.branch(standard, None, dtype)

    def errors(self, evidence: Tensor, residual: Tensor, mask: Tensor) -> Tensor:
        """The objective (B,) of residuals (B, d) with mask (B, d)."""
        zero = torch.zeros_like(residual)
        return self.objective(zero, residual, self.distribution(evidence), None, mask)

    def forward(
        self, evidence: Tensor, residual: Tensor, mask: Tensor, mode: str = 'tensor'
    ) -> Any:
        """The loss, or what a metric reads, of a batch of cached predictions.

        Shapes: evidence (B, E), residual and mask (B, d).
        """
        if mode == 'loss':
            return dict(loss=self.errors(evidence, residual, mask).mean())
        covariance = self.distribution(evidence)
        if mode == 'predict':
            return [dict(nll=likelihood(covariance, residual, mask))]
        return covariance.matrix


def likelihood(covariance: Covariance, residual: Tensor, mask: Tensor) -> Tensor:
    """−log p (B,) of residuals (B, d), by the distribution whose covariance it is."""
    if covariance.degrees_of_freedom is None:
        return covariance.negative_log_likelihood(residual, mask)
    return student.negative_log_likelihood(
        residual, None, covariance.degrees_of_freedom, mask, scale_tril=covariance.scale.scale_tril
    )
