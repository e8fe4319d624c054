"""The fitted covariances, compared with one covariance for all.

Axes: N people, K joints, d = 2K.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hetpose.apis.calibration.calibrate import CalibrationReport
from hetpose.apis.fit.cache import Errors
from hetpose.evaluation.functional.calibration import coverage, pit
from hetpose.evaluation.functional.recalibration import fit_coverage
from hetpose.evaluation.functional.scores import calibration_scores
from hetpose.fileio import atomic_path, write_json, write_text
from hetpose.models.heads.error_model import UNITS
from hetpose.ops.distribution import Distribution
from hetpose.ops.student import predictive_nll
from hetpose.tables import markdown_table

FLATTERED = (
    'The labels are those that the model was trained on. Its errors there are smaller than on new '
    'images: Σ will be too small. Fit on labels that it has not seen.'
)
LEVEL = 0.9  # of the joints' ellipses


@dataclass(frozen=True)
class FormScore:
    """Scores of one form of Σ on people that it has not seen.

    nll in nats per person, of errors in per cent of the crop's longer side; the others are means
    over the joints. recalibrated_90 is the share inside the 90% ellipses of αΣ, ``alpha`` such
    that these hold 90% of the joints of other people.
    """

    nll: float
    coverage_90: float
    recalibrated_90: float
    alpha: float
    ence: float
    ause: float

    @classmethod
    def of(cls, predicted: Distribution, held: Distribution) -> FormScore:
        """Judge predictions in per cent of the crop's longer side; ellipses have their tails.

        ``held`` are the predictions of the people that α is fitted on.
        """
        nll = predictive_nll(
            predicted.residual,
            predicted.covariance,
            predicted.degrees_of_freedom,
            predicted.present,
        )
        alpha = fit_coverage(
            held.residual,
            held.covariance,
            held.present,
            held.block,
            LEVEL,
            held.degrees_of_freedom,
        )
        seen = [part for part in predicted.parts() if bool(part.present.any())]
        scores = [calibration_scores(part).numbers() for part in seen]
        means = {
            name: float(np.mean([score[name] for score in scores]))
            for name in ('coverage_90', 'ence', 'ause')
        }
        inside = np.mean([_share_inside(part, alpha) for part in seen])
        return cls(float(nll.mean()), recalibrated_90=float(inside), alpha=alpha, **means)


def _share_inside(part: Distribution, alpha: float) -> float:
    """The share of a joint's errors inside the 90% ellipses of αΣ."""
    nu = part.degrees_of_freedom
    values = pit(part.residual, alpha * part.covariance, part.present, nu)
    return coverage(values, torch.tensor([LEVEL], dtype=values.dtype)).item()


@dataclass(frozen=True)
class FitReport:
    """All that a fit found out; lengths are in image pixels where nothing else is said.

    kept: tails of the model that was written; validation: NLL by tails of the people that decided;
    degrees_of_freedom: least, median and largest ν of the Student-t on the test people.
    """

    people: dict[str, int]
    images: dict[str, int]
    forms: dict[str, FormScore]
    kept: str
    validation: dict[str, float]
    degrees_of_freedom: tuple[float, float, float]
    calibration: CalibrationReport
    unchanged: float
    flattered: bool
    unlabelled: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def unchanged_line(self) -> str:
        """Whether the predictions are those of the unwrapped model."""
        return f'keypoints unchanged: largest difference {self.unchanged:g}'

    @property
    def warning(self) -> str:
        """A warning where the model was trained on the labels; else an empty text."""
        return FLATTERED if self.flattered else ''

    @property
    def kept_line(self) -> str:
        """The tails of the written model, and the ν of the Student-t."""
        nll = ', '.join(f'{tails} {value:.2f}' for tails, value in self.validation.items())
        least, median, most = self.degrees_of_freedom
        return (
            f'written: {self.kept} tails (NLL on the people of the validation: {nll}); degrees of '
            f'freedom of the Student-t {least:.2f} to {most:.2f}, median {median:.2f}'
        )

    def numbers(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        return {
            'people': self.people,
            'images': self.images,
            'forms': {name: vars(score) for name, score in self.forms.items()},
            'kept': self.kept,
            'validation_nll': self.validation,
            'degrees_of_freedom': list(self.degrees_of_freedom),
            'calibration': self.calibration.numbers(),
            'keypoints_largest_difference': self.unchanged,
            'labels_are_training_labels': self.flattered,
            'joints_without_labels': list(self.unlabelled),
            'settings': self.settings,
        }

    def markdown(self) -> str:
        """The report as Markdown."""
        split = ', '.join(
            f'{count} people in {self.images[name]} images for the {name}'
            for name, count in self.people.items()
        )
        lines = [
            '# Covariance of a frozen model',
            f'{split}.',
            *([f'**{self.warning}**'] if self.flattered else []),
            *(
                [f'Never labelled, so that Σ is a guess: {", ".join(self.unlabelled)}.']
                if self.unlabelled
                else []
            ),
            self.unchanged_line + '.',
            '## Held-out people',
            'NLL in nats per person, of errors in per cent of the longer side of the crop; the '
            'other columns are means over the joints. After: with αΣ, one α for each row, such '
            'that the 90% ellipses hold 90% of the joints of the people of the validation.',
            self.table(),
            self.kept_line[0].upper() + self.kept_line[1:] + '.',
            '![](nll.png)',
            '## Calibration, in image pixels',
            'See [calibration/report.md](calibration/report.md). Recalibrated on people of the '
            'validation; the test people are judged only.',
            self.calibration.after.summary().strip(),
            '![](calibration/after.png)',
        ]
        return '\n\n'.join(lines) + '\n'

    def table(self) -> str:
        """One row for each form of Σ."""
        return markdown_table(
            ['Σ', 'NLL', '90% ellipses hold', 'after', 'ENCE', 'AUSE'],
            [
                (
                    name,
                    f'{s.nll:.2f}',
                    *(
                        f'{value:.3f}'
                        for value in (s.coverage_90, s.recalibrated_90, s.ence, s.ause)
                    ),
                )
                for name, s in self.forms.items()
            ],
        )

    def write(self, folder: Path) -> None:
        """Write report.md, report.json, nll.png, and the calibration's own report in a folder."""
        self.calibration.write(folder / 'calibration')
        write_json(folder / 'report.json', self.numbers())
        self._plot(folder / 'nll.png')
        write_text(folder / 'report.md', self.markdown())

    def _plot(self, path: Path) -> None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 3), layout='constrained')
        axes = figure.subplots()
        names, values = list(self.forms), [score.nll for score in self.forms.values()]
        axes.barh(names, values, color='#4878a8')
        axes.invert_yaxis()
        low, high = min(values), max(values)
        axes.set_xlim(low - 0.25 * (high - low + 1), high + 0.15 * (high - low + 1))
        for row, value in enumerate(values):
            axes.text(value, row, f' {value:.2f}', va='center')
        axes.set_xlabel('NLL of held-out people, nats per person (lower is better)')
        with atomic_path(path) as temporary:
            figure.savefig(temporary, dpi=120)


def in_pixels(errors: Errors, predicted: Distribution) -> Distribution:
    """Predictions of people's errors, in per cent of the crop's longer side, in image pixels."""
    scale = torch.as_tensor(errors.side) / UNITS
    return predicted.rescaled(scale[:, None].expand(-1, 2))
