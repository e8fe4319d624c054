"""Split conformal ellipsoids: coverage with a finite-sample guarantee, also for a wrong model.

The score of a sample is how much its ellipsoid of the wanted level has to be scaled to reach the
truth: s = rᵀΛr / q, q the χ² quantile of the present dimensions, or that of a Student-t
(``squared_radius``) where its degrees of freedom are given. The ceil((n + 1)·level)-th smallest of
n held-out scores is a scale that covers a new, exchangeable sample with probability of at least
``level``.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from scipy import stats
from torch import Tensor

from hetpose.evaluation.functional.calibration import present, split_blocks, squared_radius
from hetpose.ops.gaussian import mahalanobis_squared

KINDS = ('whole', 'per_block', 'simultaneous')


def conformal_quantile(scores: Tensor, level: float) -> float:
    """The ceil((n + 1)·level)-th smallest score; infinite if n is too small for the level.

    Shape: (n,), of which NaN is left out.
    """
    if not 0 < level < 1:
        raise ValueError(f'level must lie between 0 and 1, not {level}')
    finite, _ = scores[~scores.isnan()].sort()
    # The margin keeps a product such as 10 · 0.9 = 9.000000000000002 from rounding up.
    rank = math.ceil((len(finite) + 1) * level - 1e-9)
    return finite[rank - 1].item() if rank <= len(finite) else math.inf


def scale_scores(
    residual: Tensor,
    covariance: Tensor,
    mask: Tensor | None,
    level: float,
    degrees_of_freedom: Tensor | None = None,
) -> Tensor:
    """rᵀΛr / its quantile for the present dimensions; NaN where there are none.

    Shapes: (..., d), (..., d, d), mask (..., d), degrees_of_freedom (...) → (...).
    """
    here = present(residual, mask)
    count = here.sum(-1)
    if degrees_of_freedom is None:
        table = torch.as_tensor(
            stats.chi2.ppf(level, range(1, here.shape[-1] + 1)), dtype=residual.dtype
        ).to(residual.device)
        quantile: float | Tensor = table[count.clamp(min=1) - 1]
    else:
        quantile = squared_radius(level, count.clamp(min=1), degrees_of_freedom)
    score = mahalanobis_squared(residual, covariance, here) / quantile
    return torch.where(count > 0, score, torch.nan)


@dataclass(frozen=True)
class ConformalEllipsoids:
    """Ellipsoids {y : rᵀΛr ≤ scale · quantile}, fitted by ``fit``.

    The quantile is that of χ², or of the sample's Student-t: a scale that was fitted with degrees
    of freedom is used with them.

    kind 'whole': one ellipsoid of all dimensions; 'per_block': an ellipsoid per block (joint),
    each with the guarantee by itself; 'simultaneous': one scale such that all present blocks lie
    in theirs at once with the guarantee. scale: one number, or K for 'per_block'. count: held-out
    samples behind each scale. student: whether degrees of freedom were given, None if unknown.
    """

    kind: str
    level: float
    block: int
    scale: tuple[float, ...]
    count: tuple[int, ...]
    student: bool | None = None

    @classmethod
    def fit(
        cls,
        residual: Tensor,
        covariance: Tensor,
        mask: Tensor | None = None,
        level: float = 0.9,
        kind: str = 'whole',
        block: int = 2,
        degrees_of_freedom: Tensor | None = None,
    ) -> ConformalEllipsoids:
        """Fit on samples that neither trained nor recalibrated the model.

        Shapes: (n, d), (n, d, d), mask (n, d), degrees_of_freedom (n,).
        """
        if kind not in KINDS:
            raise ValueError(f'kind must be one of {", ".join(KINDS)}, not {kind!r}')
        scores = cls._scores(residual, covariance, mask, level, kind, block, degrees_of_freedom)
        scale = tuple(conformal_quantile(column, level) for column in scores.mT)
        count = tuple(int(n) for n in (~scores.isnan()).sum(0))
        return cls(kind, level, block, scale, count, degrees_of_freedom is not None)

    def _check(self, degrees_of_freedom: object) -> None:
        if self.student is not None and self.student != (degrees_of_freedom is not None):
            fitted, given = ('with', 'without') if self.student else ('without', 'with')
            raise ValueError(
                f'degrees_of_freedom: the ellipsoids were fitted {fitted} them, not {given}'
            )

    @staticmethod
    def _scores(
        residual: Tensor,
        covariance: Tensor,
        mask: Tensor | None,
        level: float,
        kind: str,
        block: int,
        degrees_of_freedom: Tensor | None,
    ) -> Tensor:
        """Scores (n, 1), or (n, K) for 'per_block'."""
        if kind == 'whole':
            return scale_scores(residual, covariance, mask, level, degrees_of_freedom)[:, None]
        nu = None if degrees_of_freedom is None else degrees_of_freedom[:, None]
        scores = scale_scores(*split_blocks(residual, covariance, mask, block), level, nu)
        if kind == 'per_block':
            return scores
        worst = scores.nan_to_num(nan=-torch.inf).amax(-1, keepdim=True)
        return torch.where(worst.isinf(), torch.nan, worst)

    def contains(
        self,
        residual: Tensor,
        covariance: Tensor,
        mask: Tensor | None = None,
        degrees_of_freedom: Tensor | None = None,
    ) -> Tensor:
        """Whether the truth lies inside. Shapes: (n, d), (n, d, d), mask (n, d),
        degrees_of_freedom (n,) → bool (n, 1) or (n, K).

        A block with nothing present counts as inside.
        """
        self._check(degrees_of_freedom)
        settings = self.level, self.kind, self.block
        scores = self._scores(residual, covariance, mask, *settings, degrees_of_freedom)
        return ~(scores > torch.tensor(self.scale, dtype=scores.dtype, device=scores.device))

    def radius_squared(
        self, dims: int, degrees_of_freedom: float | None = None
    ) -> tuple[float, ...]:
        """Squared Mahalanobis radius of each ellipsoid of ``dims`` present dimensions, for a
        sample with these degrees of freedom.
        """
        self._check(degrees_of_freedom)
        nu = degrees_of_freedom
        quantile = squared_radius(
            self.level, dims, None if nu is None else torch.tensor(nu, dtype=torch.float64)
        )
        return tuple(scale * float(quantile) for scale in self.scale)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON; an infinite scale (too few samples) is null."""
        values = asdict(self)
        values['scale'] = [s if math.isfinite(s) else None for s in self.scale]
        values['count'] = list(self.count)
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ConformalEllipsoids:
        """The inverse of ``to_dict``."""
        scale = tuple(math.inf if s is None else float(s) for s in values['scale'])
        settings = {name: values[name] for name in ('kind', 'level', 'block')}
        known = values.get('student')
        return cls(scale=scale, count=tuple(values['count']), student=known, **settings)
