"""The fitted sinusoids: true and predicted mean with ±2σ bands, one panel per method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from hetpose.apis.suites.plan import Suite, rank
from hetpose.apis.suites.plots.style import GREY, grid, label_of, line_of, save, style
from hetpose.apis.suites.store import Result

COLUMNS = 3
TITLES = {
    'growing': 'y = |x| sin 2πx',
    'shrinking': 'y = (5 − |x|) sin 2πx',
    'constant': 'y = 5 sin 2πx',
}


def draw_sinusoids(suite: Suite, results: Sequence[Result], folder: Path) -> list[Path]:
    """One figure per function, from the first trial that kept its fit."""
    paths = []
    for dataset in suite.present(results):
        fits = {
            r.unit.method: r.extra['fit']
            for r in reversed(results)
            if r.unit.dataset == dataset and r.extra.get('fit')
        }
        methods = sorted(fits, key=rank)
        if not methods:
            continue
        rows = math.ceil(len(methods) / COLUMNS)
        with style():
            figure, axes = grid(
                rows, COLUMNS, 4.1 * COLUMNS, 1.9 * rows + 0.7, sharex=True, sharey=True
            )
            for ax in axes.flat[len(methods) :]:
                ax.set_axis_off()
            for ax, method in zip(axes.flat, methods, strict=False):
                _panel(ax, method, fits[method])
            for ax in axes.flat[max(0, len(methods) - COLUMNS) : len(methods)]:
                ax.set_xlabel('x')
                ax.tick_params(labelbottom=True)
            figure.suptitle(
                f'{TITLES.get(dataset, dataset)}, σ(x) = |x|: predicted mean and ±2σ band; '
                'true ones in grey',
                x=0.01,
                ha='left',
                weight='bold',
            )
            paths.append(save(figure, folder / f'fit_{dataset}.png'))
    return paths


def _panel(ax: Axes, method: str, fit: dict[str, Any]) -> None:
    x, mean, true_mean = (np.array(fit[key], dtype=float) for key in ('x', 'mean', 'true_mean'))
    true_std = np.array(fit['true_std'], dtype=float)
    colour = line_of(method)[0]
    edge: dict[str, Any] = {'color': GREY, 'linewidth': 0.9, 'linestyle': (0, (3, 1.5))}
    ax.fill_between(
        x, true_mean - 2 * true_std, true_mean + 2 * true_std, color='#DDDDDD', linewidth=0
    )
    ax.plot(x, true_mean, **edge)
    if fit.get('std') is not None:
        std = np.array(fit['std'], dtype=float)
        ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=colour, alpha=0.28, linewidth=0)
        for side in (-2, 2):
            ax.plot(x, mean + side * std, color=colour, linewidth=0.6)
    ax.plot(x, mean, color=colour, linewidth=1.4)
    ax.set_title(label_of(method))
    reach = 1.15 * float(np.max(np.abs(true_mean) + 2 * true_std))
    ax.set_ylim(-reach, reach)
    ax.set_xlim(x[0], x[-1])
