"""The forms of Σ that a fit compares, and which of them the model keeps.

Axes: N people, K joints, d = 2K.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hetpose.apis.fit.cache import Errors
from hetpose.apis.fit.training import (
    PRIOR,
    TrainingSettings,
    constant_covariance,
    prepare,
    rows,
    scaled,
    share_evidence,
    train,
)
from hetpose.errors import UserError, unknown_name
from hetpose.models.covariance.student import LEAST_LOWEST, LOWEST, START
from hetpose.models.heads.error_model import ErrorModel
from hetpose.ops.distribution import Distribution
from hetpose.ops.student import covariance_from_scale
from hetpose.ops.student_moments import fit_student

MANY_JOINTS = 40  # from here on a full factor has more outputs than data to fit them
GAUSSIAN, STUDENT, AUTO = 'gaussian', 'student', 'auto'
MARGINALS = 2.0
"""What the likelihoods of single joints count in a Student-t: the held-out NLL of whole people is
lower with them than without, and the joints' ellipses are nearer to what they should hold."""
TAILS = (AUTO, GAUSSIAN, STUDENT)
NAMES = {GAUSSIAN: 'varying, full, Gaussian', STUDENT: 'varying, full, Student-t'}


@dataclass(frozen=True)
class FitSettings:
    """The settings of a fit.

    rank: of a low-rank covariance; None takes a full factor up to 40 joints and rank 8 beyond.
    tails: 'gaussian', 'student', or 'auto': whichever has the lower NLL on the people of the
        validation. Both are fitted and judged, whatever is kept.
    marginals: what the likelihoods of single joints count in the fit of a Student-t.
    lowest: degrees of freedom of a Student-t stay above it; see StudentCovariance.
    floor: smallest variance, in squared per cent of the longer side of the crop.
    conformal: level of the conformal ellipsoids.
    ellipses: level of the joints' ellipses that the recalibration is fitted for.
    batch_size: people whom the frozen model sees at once. 8 are faster on a CPU than 32, whose
        features leave its caches; a GPU takes more.
    """

    rank: int | None = None
    tails: str = AUTO
    lowest: float = LOWEST
    floor: float = 1e-4
    prior: float = PRIOR
    marginals: float = MARGINALS
    components: int = 48
    width: int = 128
    conformal: float = 0.9
    ellipses: float = 0.9
    batch_size: int = 8
    workers: int = 0
    training: TrainingSettings = TrainingSettings()

    def __post_init__(self) -> None:
        if self.tails not in TAILS:
            raise unknown_name('tails', self.tails, TAILS)
        if not LEAST_LOWEST <= self.lowest < START:
            raise UserError(
                f'lowest must lie between {LEAST_LOWEST} and {START:g}, where a Student-t starts, '
                f'not {self.lowest:g}'
            )

    def covariance(self, joints: int, tails: str = GAUSSIAN) -> dict[str, Any]:
        """Config of the covariance of K joints."""
        rank = 8 if self.rank is None and joints > MANY_JOINTS else self.rank
        shape: dict[str, Any] = dict(type='AnchoredCovariance', floor=self.floor)
        if rank is not None:
            shape = dict(type='LowRankAnchoredCovariance', rank=rank, floor=self.floor)
        if tails == GAUSSIAN:
            return shape
        return dict(type='StudentCovariance', scale=shape, lowest=self.lowest)

    def objective(self, tails: str = GAUSSIAN) -> dict[str, Any]:
        """Config of the objective."""
        if tails == STUDENT:
            return dict(type='StudentNLLObjective', prior=self.prior, marginals=self.marginals)
        return dict(type='AnchoredNLLObjective', prior=self.prior)

    def error_model(self, joints: int, features: int, tails: str) -> ErrorModel:
        """An error model as PosthocCovarianceHead would build it."""
        return ErrorModel(
            joints,
            features,
            self.covariance(joints, tails),
            self.objective(tails),
            self.components,
            self.width,
        )

    def diagonal_model(self, joints: int, features: int) -> ErrorModel:
        """One of the same size whose Σ is diagonal."""
        return ErrorModel(
            joints,
            features,
            dict(type='LowRankAnchoredCovariance', rank=0, floor=self.floor),
            self.objective(),
            self.components,
            self.width,
        )


@torch.no_grad()
def predicted(model: ErrorModel, errors: Errors) -> Distribution:
    """The predictions of an error model, in per cent of the crop's longer side."""
    evidence = rows(model, errors).arrays['evidence']
    found = model.eval().distribution(evidence, torch.float64)
    residual, mask = scaled(errors)
    return Distribution.of_residuals(
        residual, found.matrix, mask, found.degrees_of_freedom, block=2
    )


def constant(covariance: Tensor, errors: Errors, nu: float | None = None) -> Distribution:
    """One covariance (d, d) for all people, with one ν where it is given."""
    residual, mask = scaled(errors)
    everyone = covariance.double().expand(len(residual), -1, -1)
    tails = None if nu is None else torch.full((len(residual),), nu, dtype=torch.float64)
    return Distribution.of_residuals(residual, everyone, mask, tails, block=2)


@dataclass(frozen=True)
class Forms:
    """Every form of Σ, fitted.

    constant: (d, d); student: covariance (d, d) and ν of one Student-t for all; validation: NLL of
    the people of the validation, by tails; kept: the tails of the model.
    """

    constant: Tensor
    student: tuple[Tensor, float]
    diagonal: ErrorModel
    full: dict[str, ErrorModel]
    validation: dict[str, float]
    kept: str

    @property
    def model(self) -> ErrorModel:
        """The error model that is kept."""
        return self.full[self.kept]

    def predict(self, errors: Errors) -> dict[str, Distribution]:
        """Σ of people in every form, by its name."""
        return {
            'one constant, diagonal': constant(torch.diag(self.constant.diagonal()), errors),
            'one constant, full': constant(self.constant, errors),
            'one constant, full, Student-t': constant(self.student[0], errors, self.student[1]),
            'varying, diagonal': predicted(self.diagonal, errors),
            **{NAMES[tails]: predicted(model, errors) for tails, model in self.full.items()},
        }


def fit_forms(
    features: int,
    fit: Errors,
    validation: Errors,
    work_dir: Path,
    settings: FitSettings,
    progress: bool = True,
) -> Forms:
    """Fit a varying diagonal Σ, and a varying full one with either tails, on F features."""
    torch.manual_seed(settings.training.seed)  # whether people were read from a cache or not
    joints = fit.mask.shape[1]
    diagonal = settings.diagonal_model(joints, features)
    full = {tails: settings.error_model(joints, features, tails) for tails in (GAUSSIAN, STUDENT)}
    prepare(diagonal, fit, diagonal=True)
    train(diagonal, fit, validation, work_dir, settings.training, 'diagonal', progress)
    reached = {}
    for tails, model in full.items():
        share_evidence(diagonal, model)
        prepare(model, fit, evidence=False)
        reached[tails] = train(
            model, fit, validation, work_dir, settings.training, tails, progress
        )
    best = min(reached, key=lambda tails: reached[tails])
    kept = best if settings.tails == AUTO else settings.tails
    scale, nu = fit_student(*scaled(fit), settings.lowest)
    student = covariance_from_scale(scale, nu), nu
    return Forms(constant_covariance(fit), student, diagonal, full, reached, kept)
