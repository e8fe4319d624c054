"""A covariance branch that learns the Σ of another model.

Axes: B batch, d = 2K targets, m entries of z, n of the evidence.
"""

from __future__ import annotations

from typing import Any

import torch
from mmengine.model import BaseModel
from torch import Tensor, nn

from hetpose.models.heads.covariance_branch import CovarianceBranch
from hetpose.ops.covariance import Covariance
from hetpose.ops.gaussian import kl_divergence


class CovarianceStudent(BaseModel):
    """Train a branch: KL(N(0, Σ̃) ‖ N(0, Σ)) + label_weight · NLL(r; Σ), Σ̃ that of the teacher.

    KL is what samples from the teacher would teach, without drawing them. The labels correct what
    the teacher has wrong.

    Args:
        branch: Σ = branch(z, evidence); it needs no Taylor terms.
        label_weight: factor of the likelihood of the labels.
    """

    def __init__(self, branch: CovarianceBranch, label_weight: float = 0.5) -> None:
        super().__init__()
        if not label_weight >= 0:
            raise ValueError(f'label_weight must not be negative, got {label_weight}')
        self.branch = branch
        self.label_weight = label_weight
        self.train()

    @torch.no_grad()
    def prepare(self, evidence: Tensor, teacher: Tensor) -> None:
        """Set what is not trained: the evidence's scale, and the anchor to the teacher's mean Σ.

        Shapes: evidence (N, n), teacher (N, d, d).
        """
        norm = self.branch.norm
        assert isinstance(norm, nn.BatchNorm1d)
        assert norm.running_mean is not None
        assert norm.running_var is not None
        norm.running_mean.copy_(evidence.mean(0))
        norm.running_var.copy_(evidence.var(0))
        anchor = self.branch.parameterisation.residual_anchor
        if anchor is not None:
            anchor.set_anchor(teacher.double().mean(0).float())

    def train(self, mode: bool = True) -> CovarianceStudent:
        """Keep the scale of the evidence."""
        super().train(mode)
        if self.branch.norm is not None:
            self.branch.norm.eval()
        return self

    def distribution(
        self, z: Tensor, evidence: Tensor, dtype: torch.dtype = torch.float32
    ) -> Covariance:
        """Z (B, m) and evidence (B, n) → Σ (B, d, d)."""
        return self.branch(z, None, dtype, evidence)

    def forward(
        self,
        z: Tensor,
        evidence: Tensor,
        teacher: Tensor,
        residual: Tensor,
        mask: Tensor,
        mode: str = 'tensor',
    ) -> Any:
        """The loss, or what a metric reads, of a batch of what the teacher computed.

        Shapes: z (B, m), evidence (B, n), teacher (B, d, d), residual and mask (B, d).
        """
        covariance = self.distribution(z, evidence)
        if mode == 'predict':
            return [dict(nll=covariance.negative_log_likelihood(residual, mask))]
        if mode == 'loss':
            zero = torch.zeros_like(residual)
            losses = dict(
                loss_teacher=kl_divergence(zero, teacher, zero, covariance.matrix).mean()
            )
            if self.label_weight:
                likelihood = covariance.negative_log_likelihood(residual, mask)
                losses['loss_labels'] = self.label_weight * likelihood.mean()
            return losses
        return covariance.matrix
