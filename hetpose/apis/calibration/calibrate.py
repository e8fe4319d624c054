"""Calibrate a model: fit on one part of the data, judge on another, write a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hetpose.apis.calibration.predictions import Predictions, split_samples
from hetpose.apis.calibration.recalibration import Recalibration
from hetpose.apis.calibration.report import CalibrationResult, judge
from hetpose.errors import UserError
from hetpose.evaluation.functional.conformal import KINDS, ConformalEllipsoids
from hetpose.fileio import write_json, write_text
from hetpose.tables import markdown_table

LOST_ALPHA = 0.01
ECE_TOLERANCE = 0.01  # a coverage error may grow by this much where the likelihood is better
KIND_TITLES = {
    'whole': 'all dimensions, one ellipsoid',
    'per_block': 'each part by itself',
    'simultaneous': 'all parts at once',
}


@dataclass(frozen=True)
class CalibrationReport:
    """The recalibration of the fit part, and the scores of the other part before and after it."""

    recalibration: Recalibration
    before: CalibrationResult
    after: CalibrationResult
    conformal: dict[str, ConformalEllipsoids]
    conformal_coverage: dict[str, list[float]]
    names: tuple[str, ...]
    fitted_on: str = ''  # which samples
    refused: str | None = None  # why the recalibration that was fitted is not used
    level: float | None = None  # of the ellipses that α is fitted for; None: by likelihood

    def numbers(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        fitted = self.recalibration
        conformal = {
            kind: {
                **fit.to_dict(),
                'coverage': [None if math.isnan(c) else c for c in self.conformal_coverage[kind]],
            }
            for kind, fit in self.conformal.items()
        }
        return {
            'recalibration': {
                'alpha': fitted.alpha,
                'beta': fitted.beta,
                'n': fitted.count,
                'nll_before': fitted.nll_before,
                'nll_after': fitted.nll_after,
                'refused': self.refused,
                'level': self.level,
            },
            'before': self.before.numbers(),
            'after': self.after.numbers(),
            'conformal': conformal,
        }

    def markdown(self) -> str:
        """The report as Markdown."""
        fitted = self.recalibration
        names = self.names if fitted.per_joint else ['all']
        rows = zip(names, fitted.alpha, fitted.beta, strict=True)
        lines = [
            '# Calibration',
            f'Fitted on {fitted.count} samples{self.fitted_on}, judged on '
            f'{self.before.overall.count} others. '
            f'Model: {fitted.model or "not named"}.',
            '## As predicted',
            self.before.summary().strip(),
            '![](before.png)',
            '## Recalibrated',
            self._method(),
            markdown_table(['', 'α', 'β'], [(n, f'{a:.4g}', f'{b:.4g}') for n, a, b in rows]),
            *([] if self.refused is None else [self.refused]),
            *self._lost(names),
            self.after.summary().strip(),
            '![](after.png)',
        ]
        if self.conformal:
            lines += ['## Conformal ellipsoids', self._conformal_table()]
        return '\n\n'.join(lines) + '\n'

    def _method(self) -> str:
        if self.level is not None:
            return (
                f'Σ → αΣ, such that the ellipses of {self.level:.0%} of the single parts hold '
                f'{self.level:.0%} of those of the fit.'
            )
        units = self.recalibration.units
        return (
            'Σ → αΣ + βI, by the likelihood of the samples of the fit; '
            f'β in {units + "²" if units else "squared units of the target"}.'
        )

    def _lost(self, names: Sequence[str]) -> list[str]:
        """A warning where the fit prefers a constant covariance to the predicted one."""
        lost = [n for n, a in zip(names, self.recalibration.alpha, strict=True) if a < LOST_ALPHA]
        if not lost:
            return []
        return [
            f'α is almost 0 for {", ".join(lost)}: by likelihood these predictions are no better '
            'than one constant, round covariance, and what they knew about hard samples is lost. '
            'Without β (`--no-floor`) it is kept.'
        ]

    def _conformal_table(self) -> str:
        level = next(iter(self.conformal.values())).level
        rows = []
        for kind, fit in self.conformal.items():
            for k, (scale, count) in enumerate(zip(fit.scale, fit.count, strict=True)):
                name = self.names[k] if kind == 'per_block' else KIND_TITLES[kind]
                covered = self.conformal_coverage[kind][k]
                rows.append((name, f'{scale:.3f}', str(count), f'{covered:.1%}'))
        return (
            f'Recalibrated ellipsoids of level {level:.0%}, with Σ times the scale. Fitted on '
            'samples of their own, they cover a new sample of the same kind with a probability '
            f'of at least {level:.0%}.\n\n'
            + markdown_table(['', 'scale', 'fitted on', 'covered here'], rows)
        )

    def write(self, folder: str | Path) -> list[Path]:
        """Write report.md, report.json, calibration.json and two pictures, each file whole."""
        folder = Path(folder)
        self.recalibration.save(folder / 'calibration.json')
        write_json(folder / 'report.json', self.numbers())
        self.before.plot(folder / 'before.png', 'As predicted')
        self.after.plot(folder / 'after.png', 'Recalibrated')
        write_text(folder / 'report.md', self.markdown())
        names = ('report.md', 'report.json', 'calibration.json', 'before.png', 'after.png')
        return [folder / name for name in names]


def calibrate(
    predictions: Predictions,
    fit: Predictions | None = None,
    *,
    fit_fraction: float = 0.5,
    per_joint: bool = False,
    floor: bool = True,
    conformal: float | None = None,
    level: float | None = None,
    seed: int = 0,
) -> CalibrationReport:
    """Recalibrate and judge.

    Without ``fit`` a random ``fit_fraction`` of the predictions is for the fit and the rest is
    judged. With a ``conformal`` level, half of the fit's samples are kept from the recalibration
    for the conformal ellipsoids, whose guarantee asks for samples that nothing else was fitted on.
    A recalibration that is worse on the judged samples is not used: the covariances stay as they
    are, and the report gives the reason.

    With a ``level``, α is not that of highest likelihood but such that the ellipses of this level
    of the single parts hold as many of the fit's parts. Nothing is decided on the judged samples
    then.
    """
    if level is not None and not 0 < level < 1:
        raise UserError(f'the level of the ellipses must lie between 0 and 1, not {level}')
    if level is not None and per_joint:
        raise UserError('a level of the ellipses goes with one alpha for all, not one per joint')
    fitted_on = ' of another split'
    if fit is None:
        fitted_on = f', a random {fit_fraction:.0%} of the ' + (
            'samples' if predictions.groups is None else 'images'
        )
        fit, predictions = split_samples(predictions, fit_fraction, seed)
    spare = None
    if conformal is not None:
        if not 0 < conformal < 1:
            raise UserError(f'the conformal level must lie between 0 and 1, not {conformal}')
        fit, spare = split_samples(fit, 0.5, seed + 1)
    before = judge(predictions.data, predictions.names, predictions.units)
    fitted = Recalibration.of(
        fit.data, per_joint, floor, fit.names, fit.units, fit.model, fit.weights, level
    )
    recalibration, refused = fitted, None
    if level is None:
        recalibration, refused = _keep_if_better(fitted, predictions, before)
    after = _recalibrated(predictions, recalibration)
    ellipsoids, covered = {}, {}
    if spare is not None and conformal is not None:
        spare = _recalibrated(spare, recalibration)
        for kind in KINDS:
            ellipsoids[kind] = ConformalEllipsoids.fit(
                spare.data.residual,
                spare.data.covariance,
                spare.data.mask,
                level=conformal,
                kind=kind,
                block=spare.data.block,
                degrees_of_freedom=spare.data.degrees_of_freedom,
            )
            covered[kind] = _covered(ellipsoids[kind], after)
    return CalibrationReport(
        recalibration,
        before,
        judge(after.data, after.names, after.units),
        ellipsoids,
        covered,
        predictions.names,
        fitted_on,
        refused,
        level,
    )


def _keep_if_better(
    fitted: Recalibration, judged: Predictions, before: CalibrationResult
) -> tuple[Recalibration, str | None]:
    """The fit, or Σ → Σ and the reason where the fit is worse on samples that it did not see."""
    changed = _recalibrated(judged, fitted)
    result = judge(changed.data, changed.names, changed.units)
    after, old = result.overall, before.overall
    parts, old_parts = _error_of_parts(result), _error_of_parts(before)
    if after.nll >= old.nll:
        what = f'raises their NLL from {old.nll:.3f} to {after.nll:.3f}'
    elif parts > old_parts + ECE_TOLERANCE:
        what = f'raises the error of the 90% ellipses from {old_parts:.3f} to {parts:.3f}'
    elif after.ece <= old.ece + ECE_TOLERANCE:
        return fitted, None
    else:
        what = f'raises the coverage error of all dimensions from {old.ece:.3f} to {after.ece:.3f}'
    identity = replace(
        fitted,
        alpha=(1.0,) * len(fitted.alpha),
        beta=(0.0,) * len(fitted.beta),
        nll_after=fitted.nll_before,
    )
    shown = ', '.join(f'{a:.4g}' for a in fitted.alpha[:3]) + (', ...' * (len(fitted.alpha) > 3))
    return identity, (
        f'The fit (α = {shown}) is not used, because on the judged samples it {what}; '
        'the covariances stay as they are.'
    )


def _error_of_parts(result: CalibrationResult) -> float:
    """How far the share inside the 90% ellipse is from 90%, the mean over the joints."""
    errors = [abs(scores.covered(0.9) - 0.9) for scores in result.parts.values()]
    return sum(errors) / len(errors) if errors else 0.0


def _recalibrated(predictions: Predictions, recalibration: Recalibration) -> Predictions:
    covariance = recalibration.apply(predictions.data.covariance)
    return replace(predictions, data=replace(predictions.data, covariance=covariance))


def _covered(ellipsoids: ConformalEllipsoids, predictions: Predictions) -> list[float]:
    """Share of the known samples inside, per ellipsoid."""
    data = predictions.data
    inside = ellipsoids.contains(
        data.residual, data.covariance, data.mask, degrees_of_freedom=data.degrees_of_freedom
    )
    known = data.present
    if ellipsoids.kind == 'per_block':
        known = known.unflatten(-1, (-1, ellipsoids.block)).any(-1)
    else:
        known = known.any(-1, keepdim=True)
    return ((inside & known).sum(0) / known.sum(0)).tolist()
