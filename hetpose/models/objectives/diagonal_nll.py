"""Likelihoods of independent targets."""

from __future__ import annotations

import math

import torch
from mmpose.registry import MODELS
from torch import Tensor

from hetpose.models.objectives.base import Objective
from hetpose.ops.covariance import Covariance


@MODELS.register_module()
class DiagonalNLLObjective(Objective):
    """½ Σ_i (log 2π + log σ_i² + r_i²/σ_i²)."""

    needs_diagonal = True

    def weight(self, variances: Tensor) -> Tensor | float:
        """The factor of each dimension's likelihood."""
        return 1.0

    def per_sample(
        self,
        residual: Tensor,
        covariance: Covariance | None,
        target_root: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        assert covariance is not None
        variances = covariance.variances
        nll = 0.5 * (math.log(2 * math.pi) + variances.log() + residual.square() / variances)
        nll = nll * self.weight(variances)
        if mask is not None:
            nll = torch.where(mask, nll, torch.zeros_like(nll))
        return nll.sum(-1)


@MODELS.register_module()
class BetaNLLObjective(DiagonalNLLObjective):
    """Each dimension's likelihood times σ^2β, a constant for the gradient.

    Args:
        beta: 0 is the likelihood; with 1 the mean is trained as by the squared error.
    """

    def __init__(self, beta: float = 0.5) -> None:
        super().__init__()
        if not 0 <= beta <= 1:
            raise ValueError(f'beta must lie in [0, 1], got {beta}')
        self.beta = beta

    def weight(self, variances: Tensor) -> Tensor | float:
        return variances.detach() ** self.beta
