"""Gaussians whose covariance is that of an anchor, seen through a diagonal and a few directions.

Axes: d targets, r directions. Σ = L0 (diag(D) + U Uᵀ) L0ᵀ with one lower factor L0 (d, d) for all,
D (..., d) positive and U (..., d, r).
"""

from __future__ import annotations

import torch
from torch import Tensor

from hetpose.ops.covariance import Covariance
from hetpose.ops.gaussian import LOG_2PI, negative_log_likelihood
from hetpose.ops.marginal import whiten
from hetpose.ops.spd import cholesky_log_determinant, safe_cholesky
from hetpose.ops.validation import explain_nan


def low_rank_energy(white: Tensor, diagonal: Tensor, factor: Tensor) -> tuple[Tensor, Tensor]:
    """wᵀ S⁻¹ w and log|S| of S = diag(D) + U Uᵀ, in O(d·r²).

    With C = I + Uᵀ D⁻¹ U and z = C⁻¹ Uᵀ D⁻¹ w (Woodbury) the form is |D^-½ (w − U z)|² + |z|², a
    sum of squares in which nothing cancels; log|S| = log|D| + log|C| (determinant lemma).

    Shapes: white (..., d), diagonal (..., d), factor (..., d, r) -> (...), (...).
    """
    scaled = factor / diagonal[..., None]
    identity = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    inner = safe_cholesky(identity + factor.mT @ scaled, 'inner matrix of the low rank')
    weights = torch.cholesky_solve(scaled.mT @ white[..., None], inner)[..., 0]
    rest = white - (factor @ weights[..., None])[..., 0]
    distance = (rest.square() / diagonal).sum(-1) + weights.square().sum(-1)
    return distance, diagonal.log().sum(-1) + cholesky_log_determinant(inner)


class LowRankCovariance(Covariance):
    """Σ = L0 (diag(D) + U Uᵀ) L0ᵀ, whose likelihood needs no d × d matrix per sample.

    Args:
        anchor_tril: L0 (d, d).
        diagonal: D (..., d).
        directions: U (..., d, r).
    """

    def __init__(self, anchor_tril: Tensor, diagonal: Tensor, directions: Tensor) -> None:
        self.anchor_tril, self.diagonal, self.directions = anchor_tril, diagonal, directions

        def factor() -> Tensor:
            inner = torch.cat([torch.diag_embed(diagonal.sqrt()), directions], dim=-1)
            return anchor_tril @ inner

        def scale_tril() -> Tensor:
            # The product of two lower factors is one.
            inner = torch.diag_embed(diagonal) + directions @ directions.mT
            return anchor_tril @ safe_cholesky(inner)

        super().__init__(factor=factor, scale_tril=scale_tril, anchor=anchor_tril @ anchor_tril.mT)

    def negative_log_likelihood(self, residual: Tensor, mask: Tensor | None = None) -> Tensor:
        """½(d log 2π + log|Σ| + rᵀ Σ⁻¹ r) of residuals (B, d), the marginal where a mask is given.

        A person with every joint takes O(d²). One with missing joints takes a Cholesky factor:
        rows of L0 are no longer triangular, and what is left of D no longer diagonal.
        """
        if mask is None:
            return self._whole(residual, slice(None))
        whole = mask.all(-1)
        if bool(whole.all()):
            return self._whole(residual, slice(None))
        likelihood = residual.new_zeros(len(residual))
        if bool(whole.any()):
            likelihood = likelihood.masked_scatter(whole, self._whole(residual, whole))
        part = ~whole
        covariance = LowRankCovariance(
            self.anchor_tril, self.diagonal[part], self.directions[part]
        ).matrix
        partial = negative_log_likelihood(residual[part], covariance, mask[part])
        return likelihood.masked_scatter(part, partial)

    def _whole(self, residual: Tensor, rows: Tensor | slice) -> Tensor:
        white = whiten(self.anchor_tril, residual[rows])
        distance, logarithm = low_rank_energy(white, self.diagonal[rows], self.directions[rows])
        logarithm = logarithm + cholesky_log_determinant(self.anchor_tril)
        likelihood = (residual.shape[-1] * LOG_2PI + logarithm + distance) / 2
        return explain_nan(likelihood, residual=residual)
