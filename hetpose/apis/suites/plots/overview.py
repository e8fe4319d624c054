"""NLL of every method against the constant covariance, one row for each dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hetpose.apis.suites.plan import BASELINE, Suite, rank
from hetpose.apis.suites.plots.style import (
    DOTTED,
    SOLID,
    grid,
    label_of,
    line_of,
    save,
    shared_legend,
    style,
)
from hetpose.apis.suites.recommended import RECOMMENDED
from hetpose.apis.suites.store import Result

LINEAR = 1.0  # nats around 0 within which the axis is linear


def draw_overview(suite: Suite, results: Sequence[Result], path: Path) -> Path | None:
    """Write the figure; None where no dataset has both the baseline and another method."""
    nll: dict[str, dict[str, dict[int, float]]] = {}  # by dataset, method and trial
    for result in results:
        value = result.metric('nll')
        if value is not None:
            by_method = nll.setdefault(result.unit.dataset, {})
            by_method.setdefault(result.unit.method, {})[result.unit.trial] = value
    datasets = [name for name in suite.present(results) if BASELINE in nll.get(name, {})]
    trained = {m for d in datasets for m in nll[d]} - {BASELINE, RECOMMENDED}
    methods = sorted(trained, key=rank)
    if not datasets or not methods:
        return None
    with style():
        figure, axes = grid(1, 1, 8.5, 1.6 + 0.34 * len(datasets))
        ax, furthest = axes[0, 0], 0.0
        for method in methods:
            places: list[int] = []
            values: list[float] = []
            for row, dataset in enumerate(datasets):
                own, constant = nll[dataset].get(method, {}), nll[dataset][BASELINE]
                common = sorted(own.keys() & constant.keys())
                if common:
                    places.append(row)
                    values.append(float(np.mean([own[t] - constant[t] for t in common])))
            furthest = max([furthest, *(abs(value) for value in values if np.isfinite(value))])
            colour, dashes = line_of(method)
            filled = colour if dashes == SOLID else 'white'
            shape = 's' if dashes == DOTTED else 'o'
            ax.plot(values, places, shape, color=colour, mfc=filled, ms=6, label=label_of(method))
        ax.axvline(0.0, color='black', linewidth=0.8)
        if furthest > LINEAR:
            ax.set_xscale('symlog', linthresh=LINEAR)
            ax.autoscale(axis='x')  # the margins of a linear axis would cut the outermost points
        ax.set_yticks(range(len(datasets)), datasets)
        ax.set_ylim(len(datasets) - 0.5, -0.5)
        ax.set_xlabel('NLL minus that of one constant covariance (nats; left is better)')
        shared_legend(figure, ax, columns=5)
        return save(figure, path)
