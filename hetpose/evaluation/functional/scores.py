"""Every calibration number of one set of Gaussians, together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hetpose.evaluation.functional.calibration import (
    LEVELS,
    Reliability,
    Sharpness,
    coverage,
    expected_calibration_error,
    pit,
    reliability,
    sharpness,
    uniformity,
)
from hetpose.evaluation.functional.energy_score import energy_score
from hetpose.evaluation.functional.sparsification import Sparsification, sparsification
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


def calibration_scores(predicted: Distribution, bins: int = 10) -> Scores:
    """All scores, in float64, over the samples with anything present.

    RMSE is per dimension, like rms_std, so that the two compare.
    """
    kept = predicted.present.any(-1)
    if not bool(kept.any()):
        raise ValueError('nothing is present: no sample to score')
    predicted = predicted.select(kept)
    residual, covariance = predicted.residual.double(), predicted.covariance.double()
    here, nu = predicted.present, predicted.degrees_of_freedom
    nu = None if nu is None else nu.double()
    values = pit(residual, covariance, here, nu)
    statistic, pvalue = uniformity(values)
    distance = mahalanobis_squared(residual, covariance, here)
    squared = residual.square().sum(-1) / here.sum(-1)
    return Scores(
        count=len(residual),
        dims=int(here.sum()),
        nll=predictive_nll(residual, covariance, nu, here).mean().item(),
        chi2=(distance.sum() / here.sum()).item(),
        ece=expected_calibration_error(values),
        levels=LEVELS,
        coverage=coverage(values),
        pit=values,
        ks=statistic,
        ks_pvalue=pvalue,
        reliability=reliability(residual, covariance, here, bins),
        energy=energy_score(residual, covariance, here, nu).mean().item(),
        rmse=math.sqrt(squared.mean().item()),
        sharpness=sharpness(covariance, here, degrees_of_freedom=nu),
        sparsification=sparsification(residual, covariance, here),
        heavy_tailed=nu is not None,
    )
