"""Time and memory per training step against dimension, the paper's next to ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from hetpose.apis.suites import paper
from hetpose.apis.suites.plan import Suite, rank
from hetpose.apis.suites.plots.style import (
    GREY,
    grid,
    label_of,
    line_of,
    save,
    shared_legend,
    style,
)
from hetpose.apis.suites.store import Result

QUANTITIES = {'time_ms': 'time per step (ms)', 'memory_mb': 'memory of a step (MB)'}
PAPER_METHODS = ('nll_tic', 'w2_bound', paper.OTHERS)


def draw_cost(
    suite: Suite, results: Sequence[Result], folder: Path, name: str = 'cost.png'
) -> list[Path]:
    """One panel per quantity; needs results whose datasets are dimensions, such as ``d8``."""
    chosen = [r for r in results if r.cost and r.unit.dataset[1:].isdigit()]
    if not chosen:
        return []
    with style():
        figure, axes = grid(1, 2, 9.5, 4.6)
        for ax, (quantity, label) in zip(axes[0], QUANTITIES.items(), strict=True):
            _panel(ax, chosen, quantity)
            ax.set(title=label, xlabel='dimension', yscale='log')
            ax.set_xticks(range(4, 33, 4))
        figure.suptitle(
            'Cost of a training step: ours on one CPU thread (dots), the paper’s (squares)',
            x=0.01,
            ha='left',
            weight='bold',
        )
        shared_legend(figure, axes[0, 0], columns=5)
        return [save(figure, folder / name)]


def _panel(ax: Axes, results: Sequence[Result], quantity: str) -> None:
    for method in sorted({result.unit.method for result in results}, key=rank):
        values: dict[int, list[float]] = {}
        for result in results:
            value = result.cost.get(quantity)
            if result.unit.method == method and value is not None:
                values.setdefault(int(result.unit.dataset[1:]), []).append(value)
        if values:
            dims = sorted(values)
            colour, dashes = line_of(method)
            means = [np.mean(values[d]) for d in dims]
            ax.plot(
                dims, means, marker='o', ms=3.5, color=colour, ls=dashes, label=label_of(method)
            )
    for method, series in paper.compute()[quantity].items():
        if method in PAPER_METHODS:
            colour = GREY if method == paper.OTHERS else line_of(method)[0]
            ax.plot(
                list(series), list(series.values()),
                marker='s', ms=4, mfc='white', color=colour, linewidth=1, alpha=0.8,
            )  # fmt: skip
            name = 'other methods' if method == paper.OTHERS else label_of(method)
            ax.annotate(
                f'paper: {name}',
                (max(series), series[max(series)]),
                xytext=(-4, 5),
                textcoords='offset points',
                ha='right',
                fontsize=7.5,
                color=colour,
            )
