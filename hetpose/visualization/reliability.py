"""Pictures of calibration: coverage, PIT, spread against error, sparsification."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from hetpose.fileio import atomic_path

if TYPE_CHECKING:
    from hetpose.evaluation.functional.scores import Scores

# Okabe and Ito's palette: told apart with any common colour blindness, and by lightness in grey.
MODEL, IDEAL, PART, ORACLE = '#0072B2', '#000000', '#56B4E9', '#E69F00'
BAND = '#D9D9D9'
PIT_BINS = 20
BAND_LEVEL = 0.95


def _pvalue(value: float) -> str:
    return f'= {value:.2g}' if value >= 1e-6 else '< 1e-6'


def _coverage(axes: Any, overall: Scores, parts: Mapping[str, Scores]) -> None:
    levels = overall.levels.numpy()
    low, high = (
        stats.binom.ppf(q, overall.count, levels) / overall.count
        for q in ((1 - BAND_LEVEL) / 2, (1 + BAND_LEVEL) / 2)
    )
    axes.fill_between(
        levels, low, high, color=BAND, lw=0, label=f'{BAND_LEVEL:.0%} of right models'
    )
    for i, part in enumerate(parts.values()):
        label = 'each part alone' if i == 0 else None
        axes.plot(part.levels, part.coverage, color=PART, lw=0.9, alpha=0.8, label=label)
    axes.plot([0, 1], [0, 1], color=IDEAL, lw=1, ls='--', label='ideal')
    axes.plot(
        levels,
        overall.coverage,
        color=MODEL,
        lw=2.2,
        label=f'all together (ECE {overall.ece:.3f})',
    )
    axes.set(xlabel='ellipsoid level', ylabel='truth inside', xlim=(0, 1), ylim=(0, 1))
    axes.set_title('Coverage: below the diagonal = over-confident')
    axes.set_aspect('equal', adjustable='box')
    above = float((overall.coverage - overall.levels).mean()) > 0
    axes.legend(loc='lower right' if above else 'upper left', frameon=False)


def _pit(axes: Any, overall: Scores) -> None:
    density, edges = np.histogram(
        overall.pit.clamp(0, 1).numpy(), bins=PIT_BINS, range=(0, 1), density=True
    )
    margin = stats.binom.ppf(
        [(1 - BAND_LEVEL) / 2, (1 + BAND_LEVEL) / 2], overall.count, 1 / PIT_BINS
    )
    axes.bar(
        edges[:-1], density, 1 / PIT_BINS, align='edge', color=MODEL, edgecolor='white', alpha=0.85
    )
    axes.axhline(1, color=IDEAL, lw=1, ls='--')
    for edge, label in zip(
        margin * PIT_BINS / overall.count, (f'{BAND_LEVEL:.0%} of right models', None), strict=True
    ):
        axes.axhline(edge, color=ORACLE, lw=1.5, ls='-.', label=label)
    axes.legend(loc='upper center', frameon=False)
    axes.set(xlabel='PIT of the Mahalanobis distance', ylabel='density', xlim=(0, 1))
    axes.set_ylim(0, max(1.6, 1.08 * float(density.max())))
    axes.set_title(f'PIT: flat = calibrated (KS {overall.ks:.3f}, p {_pvalue(overall.ks_pvalue)})')


def _reliability(axes: Any, overall: Scores, units: str) -> None:
    predicted, observed = (
        overall.reliability.predicted.numpy(),
        overall.reliability.observed.numpy(),
    )
    ends = np.array([min(predicted.min(), observed.min()), max(predicted.max(), observed.max())])
    ends = ends * np.array([0.9, 1.1])
    axes.plot(ends, ends, color=IDEAL, lw=1, ls='--', label='ideal')
    axes.plot(predicted, observed, 'o-', color=MODEL, lw=1.5, ms=5, label='bins of equal size')
    if ends[1] > 20 * max(ends[0], 1e-300):
        axes.set(xscale='log', yscale='log')
    unit = f' [{units}]' if units else ''
    axes.set(
        xlabel=f'predicted RMS std{unit}', ylabel=f'observed RMSE{unit}', xlim=ends, ylim=ends
    )
    axes.set_title(f'Error against predicted spread (ENCE {overall.reliability.ence:.3f})')
    axes.set_aspect('equal', adjustable='box')
    axes.legend(loc='best', frameon=False)


def _sparsification(axes: Any, overall: Scores) -> None:
    result = overall.sparsification
    # The last few samples make the curve jump and mean nothing.
    kept = result.removed.numpy() <= 1 - min(0.5, 5 / max(1, len(result.removed)))
    removed, curve, oracle = (
        v.numpy()[kept] for v in (result.removed, result.curve, result.oracle)
    )
    axes.fill_between(removed, oracle, curve, color=BAND, lw=0)
    axes.axhline(1, color=IDEAL, lw=1, ls='--', label=f'random (area {result.random:.3f})')
    axes.plot(
        removed,
        curve,
        color=MODEL,
        lw=2.2,
        label=f'by predicted spread (AUSE {result.ause:.3f})',
    )
    axes.plot(removed, oracle, color=ORACLE, lw=2.2, ls='-.', label='by true error (oracle)')
    axes.set(
        xlabel='share of most uncertain samples left out', ylabel='relative mean squared error'
    )
    axes.set(xlim=(0, 1), ylim=(0, max(1.25, 1.05 * float(curve.max()))))
    axes.set_title('Sparsification: lower = knows where it errs')
    axes.legend(loc='lower left', frameon=False)


def plot_calibration(
    path: str | Path,
    overall: Scores,
    parts: Mapping[str, Scores] | None = None,
    units: str = '',
    title: str = '',
) -> None:
    """Write four panels in one picture; the suffix of ``path`` is its format."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 9.2), layout='constrained')
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2)
    _coverage(panels[0, 0], overall, parts if parts and len(parts) > 1 else {})
    _pit(panels[0, 1], overall)
    _reliability(panels[1, 0], overall, units)
    _sparsification(panels[1, 1], overall)
    for axes in panels.flat:
        axes.spines[['top', 'right']].set_visible(False)
        axes.title.set_fontsize(11)
    if title:
        figure.suptitle(title, fontsize=13)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=120)
