"""One look for all plots: a palette that colour-blind readers can tell apart, and quiet axes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from hetpose.fileio import atomic_path

# Okabe and Ito's palette; methods that share a colour differ in their dashes.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK, GREY = (
    *('#000000', '#E69F00', '#56B4E9', '#009E73', '#C9B400', '#0072B2', '#D55E00', '#CC79A7'),
    '#7F7F7F',
)
SOLID, DASHED, DOTTED = '-', (0, (5, 2)), (0, (1.2, 1.4))
LINES: dict[str, tuple[str, Any]] = {
    'mse': (GREY, DOTTED),
    'homoscedastic': (BLACK, DASHED),
    'nll': (RED, SOLID),
    'nll_diagonal': (RED, DASHED),
    'beta_nll': (RED, DOTTED),
    'faithful': (PINK, SOLID),
    'kl': (ORANGE, SOLID),
    'w2': (SKY, SOLID),
    'w2_bound': (BLUE, SOLID),
    'nll_tic': (YELLOW, SOLID),
    'hybrid': (YELLOW, DASHED),
    'anchored': (GREEN, SOLID),
    'anchored_student': (GREEN, DASHED),
    'recommended': (GREEN, DOTTED),
    'natural': (PINK, DASHED),
}
LABELS = {
    'mse': 'MSE',
    'homoscedastic': 'Homoscedastic',
    'nll': 'NLL',
    'nll_diagonal': 'NLL, diagonal',
    'beta_nll': 'β-NLL',
    'faithful': 'Faithful',
    'kl': 'KL, calibrated',
    'w2': '2-Wasserstein',
    'w2_bound': '2-Wasserstein bound',
    'nll_tic': 'NLL, TIC',
    'hybrid': 'Hybrid',
    'anchored': 'Anchored',
    'anchored_student': 'Anchored, Student-t',
    'recommended': 'Recommended',
    'natural': 'Natural parameters',
}
# Methods of one's own take these, by their names.
OTHERS = tuple((colour, dashes) for dashes in (SOLID, DASHED) for colour in (GREY, BLACK, SKY))


def line_of(method: str) -> tuple[str, Any]:
    """Colour and dashes of a method."""
    return LINES.get(method) or OTHERS[sum(method.encode()) % len(OTHERS)]


def label_of(method: str) -> str:
    """The name of a method in a legend."""
    return LABELS.get(method, method)


METRIC_LABELS = {
    'loss': 'training loss',
    'mse': 'MSE',
    'nll': 'negative log-likelihood',
    'tac': 'TAC',
    'kl': 'KL to the true distribution',
    'w2': 'squared W2 to the true distribution',
}
# Up to which ratio of an axis's ends its ticks are these multiples of the powers of ten.
TICKS = ((10.0, (1, 1.5, 2, 3, 5, 7)), (300.0, (1, 2, 5)), (float('inf'), (1,)))
RC: dict[Any, Any] = {
    'font.family': 'DejaVu Sans',
    'font.size': 9,
    'axes.titlesize': 10,
    'axes.titleweight': 'bold',
    'axes.titlelocation': 'left',
    'axes.labelcolor': '#333333',
    'axes.edgecolor': '#888888',
    'axes.linewidth': 0.8,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'axes.axisbelow': True,
    'grid.color': '#E6E6E6',
    'grid.linewidth': 0.7,
    'xtick.color': '#555555',
    'ytick.color': '#555555',
    'legend.frameon': False,
    'lines.linewidth': 1.8,
    'figure.constrained_layout.use': True,
    'savefig.dpi': 150,
}


@contextmanager
def style() -> Iterator[None]:
    with mpl.rc_context(RC):
        yield


def grid(
    rows: int, columns: int, width: float, height: float, **kwargs: Any
) -> tuple[Figure, Any]:
    """A figure without pyplot (no global state) and its axes as a (rows, columns) array."""
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(rows, columns, squeeze=False, **kwargs)


def plain_log_ticks(ax: Axes) -> None:
    """Label a logarithmic axis with 0.2, 0.5, 1, 2, ... where it spans little, else decades."""
    low, high = ax.get_ylim()
    subs = next(s for ratio, s in TICKS if high / low < ratio)
    ax.yaxis.set_major_locator(LogLocator(subs=subs, numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f'{value:g}'))
    ax.yaxis.set_minor_formatter(NullFormatter())


def save(figure: Figure, path: Path) -> Path:
    with atomic_path(path) as temporary:
        figure.savefig(temporary)
    return path


def shared_legend(figure: Figure, axes: Axes, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc='outside lower center', ncols=columns)
