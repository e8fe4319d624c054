"""The plots of each suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hetpose.apis.suites.plan import Suite
from hetpose.apis.suites.plots.bivariate import draw_ellipses
from hetpose.apis.suites.plots.convergence import draw_convergence
from hetpose.apis.suites.plots.cost import draw_cost
from hetpose.apis.suites.plots.sinusoid import draw_sinusoids
from hetpose.apis.suites.store import Result

Drawer = Callable[[Suite, Sequence[Result], Path], list[Path]]
OF_SUITE: dict[str, tuple[Drawer, ...]] = {
    'bivariate': (draw_ellipses, draw_convergence),
    'univariate': (draw_sinusoids, draw_convergence),
    'multivariate': (draw_convergence, draw_cost),
    'uci': (draw_convergence,),
}


def draw(suite: Suite, results: Sequence[Result], folder: Path) -> list[Path]:
    """Draw what the suite has; returns the files written."""
    return [path for drawer in OF_SUITE[suite.name] for path in drawer(suite, results, folder)]
