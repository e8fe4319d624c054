"""Metrics against epochs: the mean over trials, and their range as a band."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from hetpose.apis.suites.plan import HELDOUT, PAPER, Suite, rank
from hetpose.apis.suites.plots.style import (
    METRIC_LABELS,
    grid,
    label_of,
    line_of,
    plain_log_ticks,
    save,
    shared_legend,
    style,
)
from hetpose.apis.suites.store import Result

# The axis shows what most curves do; a curve that leaves it has blown up.
QUANTILES, MARGIN = (0.02, 0.90), 0.08
LOGARITHMIC = {'mse', 'tac', 'kl', 'w2'}
PARTS = {HELDOUT: 'validation data', PAPER: 'training data'}


def draw_convergence(suite: Suite, results: Sequence[Result], folder: Path) -> list[Path]:
    """One figure per dataset, one panel per metric."""
    paths = []
    for dataset in suite.present(results):
        chosen = [r for r in results if r.unit.dataset == dataset and r.curve]
        metrics = [m for m in suite.metrics if any(_series(r, m)[0].size for r in chosen)]
        if not chosen or not metrics:
            continue
        with style():
            figure, axes = grid(1, len(metrics), 3.9 * len(metrics), 3.9)
            for ax, metric in zip(axes[0], metrics, strict=True):
                _panel(ax, chosen, metric)
            part = PARTS[chosen[0].settings.protocol]
            figure.suptitle(f'{suite.name}: {dataset} ({part})', x=0.01, ha='left', weight='bold')
            shared_legend(figure, axes[0, 0], columns=7 if len(metrics) > 2 else 5)
            paths.append(save(figure, folder / f'convergence_{dataset}.png'))
    return paths


def _panel(ax: Axes, results: Sequence[Result], metric: str) -> None:
    drawn = []
    for method in sorted({r.unit.method for r in results}, key=rank):
        series = [_series(r, metric) for r in results if r.unit.method == method]
        if not series:
            continue
        colour, dashes = line_of(method)
        epochs = np.unique(np.concatenate([e for e, _ in series]))
        if not epochs.size:  # a legend entry all the same: the method was run
            ax.plot([], [], color=colour, linestyle=dashes, label=label_of(method))
            continue
        values = np.full((len(series), len(epochs)), np.nan)
        for row, (e, v) in zip(values, series, strict=True):
            row[np.searchsorted(epochs, e)] = v
        mean = np.nanmean(values, axis=0)
        ax.plot(epochs, mean, color=colour, linestyle=dashes, label=label_of(method))
        if len(series) > 1:
            low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
            ax.fill_between(epochs, low, high, color=colour, alpha=0.12, linewidth=0)
        drawn.append(mean)
    ax.set_title(METRIC_LABELS[metric])
    ax.set_xlabel('epoch')
    _limits(ax, drawn, logarithmic=metric in LOGARITHMIC)


def _series(result: Result, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Epochs and values of a curve, without the points that have none."""
    points = [(p['epoch'], p[metric]) for p in result.curve if p.get(metric) is not None]
    array = np.array(points, dtype=float).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def _limits(ax: Axes, drawn: list[np.ndarray], logarithmic: bool) -> None:
    if not drawn:
        return
    # Every method weighs the same, and its late epochs tell where the interesting range lies.
    late = np.concatenate([values[len(values) // 5 :] for values in drawn])
    late = late[np.isfinite(late)]
    if not late.size:
        return
    low, high = np.quantile(late, QUANTILES)
    if logarithmic and late.min() > 0:
        ax.set_yscale('log')
        ratio = max(high / low, 1.2) ** (2 * MARGIN)
        ax.set_ylim(late.min() / ratio, high * ratio)
        plain_log_ticks(ax)
    else:
        span = max(high - low, 1e-3 * max(abs(high), 1e-6))
        ax.set_ylim(late.min() - MARGIN * span, high + 2 * MARGIN * span)
