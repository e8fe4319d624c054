"""Every calibration number of one set of predictions, together.

A sample is scored by itself (``score_samples``), after which its covariance is needed no more. The
scores of all samples make the numbers (``summarise``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from hetpose.evaluation.functional.calibration import (
    LEVELS,
    Reliability,
    Sharpness,
    binned_reliability,
    coverage,
    expected_calibration_error,
    mean_sharpness,
    pit,
    split_blocks,
    uniformity,
    variance_and_error,
    volume_and_area,
)
from hetpose.evaluation.functional.energy_score import energy_score
from hetpose.evaluation.functional.sparsification import Sparsification, ranking, sparsify
from hetpose.ops.distribution import Distribution
from hetpose.ops.gaussian import mahalanobis_squared
from hetpose.ops.student import predictive_nll

HEADLINE_LEVELS = (0.5, 0.9, 0.95)


@dataclass(frozen=True)
class Scores:
    """Calibration of N predictions of d dimensions. Lengths are in the target's units.

    chi2 is the mean of rᵀΛr per present dimension: 1 if calibrated, above 1 if over-confident.
    """

    count: int
    dims: int  # present dimensions of all samples
    nll: float
    chi2: float
    ece: float
    levels: Tensor  # (L,)
    coverage: Tensor  # (L,)
    pit: Tensor  # (N,)
    ks: float
    ks_pvalue: float
    reliability: Reliability
    energy: float
    rmse: float
    sharpness: Sharpness
    sparsification: Sparsification
    heavy_tailed: bool = False  # whether the predictions were Student-t

    def covered(self, level: float) -> float:
        """Share of the samples inside the ellipsoid of ``level``."""
        return coverage(self.pit, torch.tensor([level], dtype=self.pit.dtype)).item()

    def numbers(self) -> dict[str, float]:
        """The scalars by name."""
        values = {
            'n': self.count,
            'nll': self.nll,
            'chi2_per_dim': self.chi2,
            'ece': self.ece,
            **{f'coverage_{round(100 * p)}': self.covered(p) for p in HEADLINE_LEVELS},
            'pit_ks': self.ks,
            'pit_ks_pvalue': self.ks_pvalue,
            'ence': self.reliability.ence,
            'energy_score': self.energy,
            'rmse': self.rmse,
            'rms_std': self.sharpness.rms_std,
            'geometric_std': self.sharpness.geometric_std,
            'ause': self.sparsification.ause,
            'ause_random': self.sparsification.random,
        }
        if self.sharpness.ellipse_area is not None:
            values['ellipse_area_90'] = self.sharpness.ellipse_area
        return values


@dataclass(frozen=True)
class SampleScores:
    """The scores of every sample by itself, in float64; a sample may have parts: (N,) or (N, K).

    Where nothing is present the dimensions are 0 and the other scores mean nothing.
    """

    dims: Tensor  # n, the present dimensions
    pit: Tensor
    nll: Tensor
    distance: Tensor  # rᵀΛr
    energy: Tensor
    variance: Tensor  # tr Σ / n
    error: Tensor  # ‖r‖² / n
    rank: Tensor  # what AUSE leaves samples out by: tr Σ / n of the Gaussian with equal ellipsoids
    log_volume: Tensor  # log|Σ|
    area: Tensor  # of the ellipse that holds 90%; NaN where the present dimensions are not two
    heavy_tailed: bool = False

    @classmethod
    def joined(cls, rows: Sequence[SampleScores]) -> SampleScores:
        """The samples of several, in order."""
        columns: dict[str, Any] = {
            name: torch.cat([getattr(row, name) for row in rows]) for name in cls.names()
        }
        return replace(rows[0], **columns)

    @classmethod
    def names(cls) -> list[str]:
        """The names of the scores."""
        return [field.name for field in fields(cls) if field.name != 'heavy_tailed']

    def map(self, change: Callable[[Tensor], Tensor]) -> SampleScores:
        """The same change of every score."""
        columns: dict[str, Any] = {name: change(getattr(self, name)) for name in self.names()}
        return replace(self, **columns)

    def part(self, k: int) -> SampleScores:
        """The scores (N,) of one part."""
        return self.map(lambda value: value[:, k])


def score_samples(predicted: Distribution) -> SampleScores:
    """Scores of the N samples, all dimensions together."""
    nu = predicted.degrees_of_freedom
    return _scores(
        predicted.residual.double(),
        predicted.covariance.double(),
        predicted.present,
        None if nu is None else nu.double(),
    )


def score_parts(predicted: Distribution) -> SampleScores:
    """Scores (N, K) of the marginals of the parts."""
    nu = predicted.degrees_of_freedom
    residual, covariance, here = split_blocks(
        predicted.residual.double(),
        predicted.covariance.double(),
        predicted.present,
        predicted.block,
    )
    nu = None if nu is None else nu.double()[:, None].expand(residual.shape[:2])
    return _scores(residual, covariance, here, nu)


def _scores(residual: Tensor, covariance: Tensor, here: Tensor, nu: Tensor | None) -> SampleScores:
    """Shapes: (..., d), (..., d, d), (..., d), (...) → (...) each."""
    variance, error = variance_and_error(residual, covariance, here)
    log_volume, area = volume_and_area(covariance, here, degrees_of_freedom=nu)
    return SampleScores(
        dims=here.sum(-1),
        pit=pit(residual, covariance, here, nu),
        nll=predictive_nll(residual, covariance, nu, here),
        distance=mahalanobis_squared(residual, covariance, here),
        energy=energy_score(residual, covariance, here, nu),
        variance=variance,
        error=error,
        rank=ranking(variance, here.sum(-1), nu),
        log_volume=log_volume,
        area=area,
        heavy_tailed=nu is not None,
    )


def summarise(scored: SampleScores, bins: int = 10) -> Scores:
    """The numbers over the samples (N,) with anything present.

    RMSE is per dimension, like rms_std, so that the two compare.
    """
    kept = scored.dims > 0
    if not bool(kept.any()):
        raise ValueError('nothing is present: no sample to score')
    scored = scored.map(lambda value: value[kept])
    statistic, pvalue = uniformity(scored.pit)
    return Scores(
        count=len(scored.dims),
        dims=int(scored.dims.sum()),
        nll=scored.nll.mean().item(),
        chi2=(scored.distance.sum() / scored.dims.sum()).item(),
        ece=expected_calibration_error(scored.pit),
        levels=LEVELS,
        coverage=coverage(scored.pit),
        pit=scored.pit,
        ks=statistic,
        ks_pvalue=pvalue,
        reliability=binned_reliability(scored.variance, scored.error, bins),
        energy=scored.energy.mean().item(),
        rmse=math.sqrt(scored.error.mean().item()),
        sharpness=mean_sharpness(scored.dims, scored.variance, scored.log_volume, scored.area),
        sparsification=sparsify(scored.error, scored.rank),
        heavy_tailed=scored.heavy_tailed,
    )


def calibration_scores(predicted: Distribution, bins: int = 10) -> Scores:
    """All numbers of N predictions, over the samples with anything present."""
    return summarise(score_samples(predicted), bins)
