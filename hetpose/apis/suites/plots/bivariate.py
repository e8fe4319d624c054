"""Two-dimensional normals on their way to the target: a film strip and an animation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from hetpose.apis.suites.plan import Suite, rank
from hetpose.apis.suites.plots.style import BLACK, GREY, grid, label_of, line_of, save, style
from hetpose.apis.suites.store import Result
from hetpose.fileio import atomic_path

STILLS = 6
FRAMES, HOLD = 60, 12  # frames of the animation, and how often the last one is repeated
FRAMES_PER_SECOND = 12
TRAIL = 3
CIRCLE = np.stack([f(np.linspace(0, 2 * np.pi, 121)) for f in (np.cos, np.sin)])
RADIUS = 2.0  # standard deviations


def draw_ellipses(suite: Suite, results: Sequence[Result], folder: Path) -> list[Path]:
    """A still and an animation per start, from the first trial."""
    paths = []
    for dataset in suite.present(results):
        runs = {
            r.unit.method: r.extra
            for r in results
            if r.unit.dataset == dataset and r.unit.trial == 0 and r.extra.get('trajectory')
        }
        methods = sorted(runs, key=rank)
        if methods:
            with style():
                paths.append(_still(methods, runs, folder / f'ellipses_{dataset}.png'))
                paths.append(_animation(methods, runs, folder / f'ellipses_{dataset}.gif'))
    return paths


def ellipse(mean: np.ndarray, covariance: np.ndarray, radius: float = RADIUS) -> np.ndarray:
    """Outline {mean + radius·Σ^½u : |u| = 1} as (2, points); NaN while there is no Σ."""
    if not np.isfinite(covariance).all():
        return np.full_like(CIRCLE, np.nan)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    return mean[:, None] + radius * (root @ CIRCLE)


def pick(count: int, wanted: int) -> np.ndarray:
    """``wanted`` indices below ``count``, dense at the start, where the methods differ most."""
    if count <= wanted:
        return np.arange(count)
    spread = np.geomspace(1, count, 4 * wanted) - 1
    indices = np.unique(np.round(spread).astype(int))
    return indices[np.round(np.linspace(0, len(indices) - 1, wanted)).astype(int)]


def _path(run: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    path = run['trajectory']
    means = np.array(path['mean'], dtype=float)
    covariances = np.array(path['covariance'], dtype=float)
    return np.array(path['step']), means, covariances


def _limits(runs: dict[str, Any]) -> tuple[tuple[float, float], tuple[float, float]]:
    """A square window with the target and every start, whatever a broken run does outside it."""
    outlines = []
    for run in runs.values():
        _, means, covariances = _path(run)
        target = np.array(run['target']['mean']), np.array(run['target']['covariance'])
        outlines += [ellipse(*target), ellipse(means[0], covariances[0]), means[:1].T]
    points = np.concatenate(outlines, axis=1)
    low, high = np.nanmin(points, axis=1), np.nanmax(points, axis=1)
    centre, half = (high + low) / 2, 0.66 * (high - low).max()
    return tuple((float(c - half), float(c + half)) for c in centre)  # type: ignore[return-value]


def _prepare(ax: Axes, run: dict[str, Any], limits: Any) -> None:
    target_mean = np.array(run['target']['mean'])
    outline = ellipse(target_mean, np.array(run['target']['covariance']))
    ax.fill(*outline, facecolor='#E8E8E8', edgecolor=GREY, linewidth=1, linestyle=(0, (4, 2)))
    ax.plot(*target_mean, marker='+', color=GREY, markersize=7)
    ax.set(xlim=limits[0], ylim=limits[1], xticks=[], yticks=[], aspect='equal')
    for spine in ax.spines.values():
        spine.set_visible(True)
        spine.set_color('#CCCCCC')
    ax.grid(visible=False)


def _link(ax: Axes, mean: np.ndarray, run: dict[str, Any]) -> Line2D:
    """A line from the predicted to the target mean: the direction of the average residual."""
    ends = np.stack([mean, run['target']['mean']])
    return ax.plot(*ends.T, color=GREY, linewidth=0.8, linestyle=(0, (1, 1.5)))[0]


def _still(methods: list[str], runs: dict[str, Any], path: Path) -> Path:
    limits = _limits(runs)
    indices = pick(min(len(_path(run)[0]) for run in runs.values()), STILLS)
    shape = len(methods), len(indices)
    figure, axes = grid(*shape, 1.75 * shape[1] + 0.6, 1.75 * shape[0] + 0.9)
    for row, method in zip(axes, methods, strict=True):
        steps, means, covariances = _path(runs[method])
        colour = line_of(method)[0]
        row[0].set_ylabel(label_of(method), color=colour, weight='bold')
        for ax, index in zip(row, indices, strict=True):
            _prepare(ax, runs[method], limits)
            _link(ax, means[index], runs[method])
            ax.plot(*means[: index + 1].T, color=colour, linewidth=1, alpha=0.7)
            ax.fill(*ellipse(means[index], covariances[index]), color=colour, alpha=0.15, lw=0)
            ax.plot(*ellipse(means[index], covariances[index]), color=colour)
            ax.plot(*means[index], marker='o', markersize=3, color=colour)
    for ax, index in zip(axes[0], indices, strict=True):
        ax.set_title(f'step {steps[index]}', loc='center', weight='normal', color='#555555')
    title = '2σ ellipses on their way to the target (grey); dotted: the average residual'
    figure.suptitle(title, x=0.01, ha='left', weight='bold')
    return save(figure, path)


def _animation(methods: list[str], runs: dict[str, Any], path: Path) -> Path:
    limits = _limits(runs)
    paths = {method: _path(runs[method]) for method in methods}
    indices = pick(min(len(p[0]) for p in paths.values()), FRAMES)
    figure, axes = grid(1, len(methods), 2.3 * len(methods), 2.75)
    artists = {}
    for ax, method in zip(axes[0], methods, strict=True):
        colour = line_of(method)[0]
        _prepare(ax, runs[method], limits)
        ax.set_title(label_of(method), color=colour, loc='center')
        (track,) = ax.plot([], [], color=colour, linewidth=1, alpha=0.7)
        rings = [ax.plot([], [], color=colour, alpha=a)[0] for a in np.linspace(0.15, 1, TRAIL)]
        (dot,) = ax.plot([], [], marker='o', markersize=3.5, color=colour)
        link = _link(ax, paths[method][1][0], runs[method])
        artists[method] = track, rings, dot, link
    title = figure.suptitle('', color=BLACK)

    def update(frame: int) -> list[Any]:
        position = min(frame, len(indices) - 1)
        title.set_text(
            f'2σ ellipses at step {paths[methods[0]][0][indices[position]]} (target in grey)'
        )
        for method, (track, rings, dot, link) in artists.items():
            _, means, covariances = paths[method]
            now = indices[position]
            track.set_data(*means[: now + 1].T)
            link.set_data(*np.stack([means[now], runs[method]['target']['mean']]).T)
            dot.set_data(*means[now : now + 1].T)
            for age, ring in enumerate(reversed(rings)):
                index = indices[max(0, position - 2 * age)]
                ring.set_data(*ellipse(means[index], covariances[index]))
        return []

    animation = FuncAnimation(figure, update, frames=len(indices) + HOLD)
    with atomic_path(path) as temporary:
        animation.save(temporary, writer=PillowWriter(fps=FRAMES_PER_SECOND), dpi=80)
    return path
