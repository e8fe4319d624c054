"""Calibration of anybody's Gaussian predictions, from plain arrays.

result = hetpose.calibration(mean, cov, target)
print(result.summary())
result.plot('calibration.png')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hetpose.apis.calibration.arrays import distribution_of
from hetpose.apis.calibration.recalibration import Recalibration, weights_fingerprint
from hetpose.apis.calibration.verdict import verdict
from hetpose.evaluation.functional.scores import Scores, calibration_scores
from hetpose.ops.distribution import Distribution
from hetpose.tables import markdown_table

__all__ = ['CalibrationResult', 'Recalibration', 'calibration', 'weights_fingerprint']

COLUMNS = (
    ('n', 'n', '{:.0f}'),
    ('nll', 'NLL', '{:.3f}'),
    ('chi2_per_dim', 'χ²/dim', '{:.3f}'),
    ('ece', 'ECE', '{:.3f}'),
    ('coverage_50', 'cover 50%', '{:.1%}'),
    ('coverage_90', 'cover 90%', '{:.1%}'),
    ('coverage_95', 'cover 95%', '{:.1%}'),
    ('pit_ks', 'PIT KS', '{:.3f}'),
    ('ence', 'ENCE', '{:.3f}'),
    ('energy_score', 'energy', '{:.4g}'),
    ('rmse', 'RMSE', '{:.4g}'),
    ('rms_std', 'RMS std', '{:.4g}'),
    ('ause', 'AUSE', '{:.3f}'),
    ('ause_random', '(random)', '{:.3f}'),
)


@dataclass(frozen=True)
class CalibrationResult:
    """Scores of all dimensions together, and of every joint or dimension by name."""

    overall: Scores
    parts: dict[str, Scores]
    units: str = ''

    def numbers(self) -> dict[str, Any]:
        """Plain numbers for JSON: ``overall`` and ``parts``, each by the name of the score."""
        return {
            'units': self.units,
            'overall': self.overall.numbers(),
            'parts': {name: scores.numbers() for name, scores in self.parts.items()},
        }

    def verdict(self) -> str:
        """Whether the covariances are right, and if not, in what they are wrong."""
        return verdict(self.overall, self.parts)

    def summary(self) -> str:
        """A Markdown table: a row for all together, then one per joint or dimension."""
        rows = {'all': self.overall, **(self.parts if len(self.parts) > 1 else {})}
        lines = []
        for name, scores in rows.items():
            numbers = scores.numbers()
            lines.append([name, *(form.format(numbers[key]) for key, _, form in COLUMNS)])
        table = markdown_table(['', *(title for _, title, _ in COLUMNS)], lines)
        units = f' Energy, RMSE and std are in {self.units}.' if self.units else ''
        return f'{table}\n\n{self.verdict()}{units}\n'

    def plot(self, path: str | Path, title: str = '') -> None:
        """Draw coverage, PIT, spread against error and sparsification: a PNG, PDF or SVG file."""
        from hetpose.visualization.reliability import plot_calibration

        plot_calibration(path, self.overall, self.parts, units=self.units, title=title)


def calibration(
    mean: Any,
    cov: Any,
    target: Any,
    mask: Any = None,
    *,
    block: int | None = None,
    names: Sequence[str] | None = None,
    units: str = '',
    bins: int = 10,
    degrees_of_freedom: Any = None,
) -> CalibrationResult:
    """Judge the calibration of Gaussian predictions, together and per joint.

    Shapes (numpy, torch or lists): mean and target (N, d), (N, K, 2) or (N,); cov (N, d, d), per
    joint (N, K, 2, 2), or variances shaped like the mean; mask like the mean or (N, K), true where
    the target is known. For (N, d) arrays of joints give ``block=2``. ``names`` name the K joints
    (or d dimensions), ``units`` the lengths. With ``degrees_of_freedom``, one number or (N,) above
    2, the predictions are Student-t with covariance ``cov``.
    """
    data = distribution_of(mean, cov, target, mask, block, degrees_of_freedom)
    return judge(data, names, units, bins)


def judge(
    data: Distribution, names: Sequence[str] | None = None, units: str = '', bins: int = 10
) -> CalibrationResult:
    """``calibration`` of checked arrays; a part that is missing everywhere is left out."""
    count = data.dim // data.block
    names = [str(i) for i in range(count)] if names is None else list(names)
    if len(names) != count:
        raise ValueError(f'names has {len(names)} entries for {count} joints')
    parts = {
        name: calibration_scores(part, bins)
        for name, part in zip(names, data.parts(), strict=True)
        if bool(part.present.any())
    }
    return CalibrationResult(calibration_scores(data, bins), parts, units)
