"""Predicted distributions, with the targets that they are judged by.

Axes: N samples, d dimensions, K parts (the joints of a pose) of b dimensions each, d = K·b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from hetpose.ops.affine import scale_covariance
from hetpose.ops.spd import joint_blocks
from hetpose.ops.student import scale_from_covariance


@dataclass(frozen=True)
class Distribution:
    """N predictions, all in one unit: Gaussians, or Student-t where there are degrees of freedom.

    Attributes:
        mean: (N, d).
        covariance: (N, d, d).
        degrees_of_freedom: ν (N,) of Student-t predictions; None for Gaussians.
        target: (N, d), where it is known.
        mask: (N, d), True where the target is known; None where all of it is.
        true_factor: (N, d, m), F with FFᵀ the covariance that the target was drawn with.
        block: b, 2 for joints.
    """

    mean: Tensor
    covariance: Tensor
    degrees_of_freedom: Tensor | None = None
    target: Tensor | None = None
    mask: Tensor | None = None
    true_factor: Tensor | None = None
    block: int = 1

    @classmethod
    def of_residuals(
        cls,
        residual: Tensor,
        covariance: Tensor,
        mask: Tensor | None = None,
        degrees_of_freedom: Tensor | None = None,
        true_factor: Tensor | None = None,
        block: int = 1,
    ) -> Distribution:
        """The predictions as seen from their means: mean 0, target (N, d) the residual."""
        zero = torch.zeros_like(residual)
        return cls(zero, covariance, degrees_of_freedom, residual, mask, true_factor, block)

    @classmethod
    def joined(cls, rows: Sequence[Distribution]) -> Distribution:
        """The samples of several predictions of one model, in order."""
        first = rows[0]
        columns: dict[str, Any] = {
            name: torch.cat([getattr(row, name) for row in rows]) for name in first._tensors()
        }
        return replace(first, **columns)

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def dim(self) -> int:
        """The number of dimensions d."""
        return self.mean.shape[-1]

    @property
    def present(self) -> Tensor:
        """The mask as booleans (N, d)."""
        if self.mask is None:
            return torch.ones(self.mean.shape, dtype=torch.bool, device=self.mean.device)
        return self.mask.bool()

    @property
    def scale(self) -> Tensor:
        """S (N, d, d) of Student-t predictions; the covariance itself of Gaussians."""
        if self.degrees_of_freedom is None:
            return self.covariance
        return scale_from_covariance(self.covariance, self.degrees_of_freedom)

    @property
    def residual(self) -> Tensor:
        """target − mean, (N, d), 0 where the target is missing."""
        if self.target is None:
            raise ValueError('the predictions have no target')
        return torch.where(self.present, self.target - self.mean, 0.0)

    def select(self, index: Tensor | slice) -> Distribution:
        """The samples of an index (n,), a boolean (N,) or a slice."""
        columns: dict[str, Any] = {n: value[index] for n, value in self._tensors().items()}
        return replace(self, **columns)

    def parts(self) -> list[Distribution]:
        """The marginals of the K parts, in order; their true factors are left out."""
        covariances = joint_blocks(self.covariance, self.block)  # (N, K, b, b)
        made = []
        for k in range(covariances.shape[1]):
            own = slice(k * self.block, (k + 1) * self.block)
            target = None if self.target is None else self.target[:, own]
            mean, mask = self.mean[:, own], self.present[:, own]
            nu = self.degrees_of_freedom
            made.append(Distribution(mean, covariances[:, k], nu, target, mask, block=self.block))
        return made

    def rescaled(self, scale: Tensor) -> Distribution:
        """The same poses in units of 1/scale, scale (N, 2) per axis: r ↦ Sr, Σ ↦ SΣS."""
        rows = scale.repeat(1, self.dim // 2)
        return replace(
            self,
            mean=self.mean * rows,
            covariance=scale_covariance(self.covariance, rows),
            target=None if self.target is None else self.target * rows,
            true_factor=None if self.true_factor is None else self.true_factor * rows[:, :, None],
        )

    def _tensors(self) -> dict[str, Tensor]:
        """The fields that have a row for each sample, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Tensor)}
