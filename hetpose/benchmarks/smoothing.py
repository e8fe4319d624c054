"""Smoothing of moving figures: hidden joints against the raw ones, One-Euro and a constant Σ.

The measurements are the labels of SyntheticPoseSequence with their true covariance: what a model
with perfect calibration would predict. Every method has its settings chosen on films that are not
judged. Errors are in per cent of the figure's height.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hetpose.apis.inference.smoothing import MotionSettings, Person, Track
from hetpose.benchmarks.harness import Row
from hetpose.datasets.pose.figure import LIMBS, K
from hetpose.datasets.pose.sequence import SyntheticPoseSequence
from hetpose.ops.kalman import limb_correlation
from hetpose.ops.spd import joint_blocks
from hetpose.visualization.geometry import coverage_radius

HIDDEN = 0.3  # occlusion from which a joint counts as occluded
ACCELERATIONS, PERSISTENCES = (0.5, 1.0, 2.0), (0.0, 0.1, 0.2)
CUTOFFS, SLOPES = (0.3, 1.0, 3.0), (0.0, 0.01, 0.1)
COVERAGE = 0.9
TUNING, JUDGED = 1, 2  # seeds

Places = np.ndarray  # (T, K, 2)


@dataclass(frozen=True)
class Film:
    """A sequence: what is measured (T, K, 2), how surely (T, 2K, 2K), and what is hidden."""

    truth: SyntheticPoseSequence
    labels: np.ndarray
    covariances: np.ndarray
    hidden: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """The longer side of the box, (T,)."""
        return np.ptp(self.truth.joints, axis=1).max(-1)

    def errors(self, places: Places) -> np.ndarray:
        """Squared distances from the truth (T, K), in heights²."""
        return ((places - self.truth.joints) ** 2).sum(-1) / self.truth.height**2


def films(seed: int, count: int, frames: int, persistence: float) -> list[Film]:
    """Films with all that was measured in them."""
    made = (
        SyntheticPoseSequence(frames, seed, index, persistence=persistence)
        for index in range(count)
    )
    return [Film(f, f.labels(), f.covariances(), f.occlusions() > HIDDEN) for f in made]


def one_euro(labels: Places, fps: float, cutoff: float, slope: float) -> Places:
    """The One-Euro filter (Casiez et al. 2012): a low-pass whose cut-off grows with the speed."""

    def weight(frequency: np.ndarray | float) -> np.ndarray | float:
        return 1 / (1 + fps / (2 * np.pi * frequency))

    place, speed, found = labels[0], np.zeros_like(labels[0]), [labels[0]]
    for label in labels[1:]:
        speed = speed + weight(1.0) * ((label - place) * fps - speed)
        place = place + weight(cutoff + slope * np.abs(speed)) * (label - place)
        found.append(place)
    return np.stack(found)


def kalman(
    film: Film, covariances: np.ndarray, acceleration: float, persistence: float
) -> tuple[Track, Places]:
    """A track of the film with these covariances (T, 2K, 2K), and what its filter said."""
    settings = MotionSettings(acceleration, persistence=persistence)
    track = Track(settings, limb_correlation(K, LIMBS, settings.coupling))
    forward = []
    measured = zip(film.truth.times, film.labels, covariances, film.sizes, strict=True)
    for time, joints, covariance, size in measured:
        track.add(float(time), Person(joints, covariance, float(size)))
        forward.append(track.filtered()[0])
    return track, np.stack(forward)


def rmse(found: Sequence[tuple[Film, Places]], hidden: bool) -> float:
    """Root of the mean squared error of the hidden joints, or of all, in % of the height."""
    errors = [film.errors(places)[film.hidden if hidden else ...] for film, places in found]
    return float(100 * np.sqrt(np.concatenate([e.reshape(-1) for e in errors]).mean()))


def choose(
    settings: Sequence, tuning: Sequence[Film], method: Callable[..., Places]
) -> tuple[float, ...]:
    """The setting with the smallest error over all joints of the films to tune on."""
    return min(settings, key=lambda s: rmse([(f, method(f, *s)) for f in tuning], hidden=False))


def coverage(film: Film, smoothed: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Whether each joint lies in its smoothed 90% ellipse, (T, K)."""
    places, covariances = (np.stack(part) for part in zip(*smoothed, strict=True))
    offset = (film.truth.joints - places)[..., None]
    white = np.linalg.solve(np.linalg.cholesky(joint_blocks(covariances)), offset)
    return (white**2).sum((-2, -1)) <= coverage_radius(COVERAGE) ** 2


def judge(persistence: float, count: int, frames: int) -> list[Row]:
    """A row for every method, on films whose errors persist so much from frame to frame."""
    tuning = films(TUNING, max(count // 4, 1), frames, persistence)
    judged = films(JUDGED, count, frames, persistence)
    average = np.mean([f.covariances.mean(0) / f.truth.height**2 for f in tuning], axis=0)

    def constant(film: Film) -> np.ndarray:
        return np.broadcast_to(average * film.truth.height**2, film.covariances.shape)

    def euro(film: Film, cutoff: float, slope: float) -> Places:
        return one_euro(film.labels, film.truth.fps, cutoff, slope)

    grid = [(cutoff, slope) for cutoff in CUTOFFS for slope in SLOPES]
    setting = choose(grid, tuning, euro)
    found = {
        'raw': [(film, film.labels) for film in judged],
        'One-Euro': [(film, euro(film, *setting)) for film in judged],
    }
    inside = []
    for name, noise in (('constant Σ', constant), ('Σ of the frame', lambda f: f.covariances)):
        motions = [(a, p) for a in ACCELERATIONS for p in PERSISTENCES]
        best = choose(motions, tuning, lambda f, *s, n=noise: kalman(f, n(f), *s)[1])
        tracks = [(film, *kalman(film, noise(film), *best)) for film in judged]
        found[f'filter, {name}'] = [(film, forward) for film, _, forward in tracks]
        backward = [(film, track.smoothed()) for film, track, _ in tracks]
        found[f'smoother, {name}'] = [(f, np.stack([p for p, _ in b])) for f, b in backward]
        inside = [coverage(film, smoothed) for film, smoothed in backward]
    return _rows(found, float(np.mean(inside)), f'errors correlated by {persistence:g}')


def _rows(found: dict[str, list[tuple[Film, Places]]], covered: float, title: str) -> list[Row]:
    errors = {name: rmse(places, hidden=True) for name, places in found.items()}
    rows = []
    for name, places in found.items():
        metrics: dict[str, float | str] = {
            'occluded': errors[name],
            'all joints': rmse(places, hidden=False),
        }
        required, passed = '', None
        if 'of the frame' in name:
            kind = name.partition(',')[0]
            rivals = ('raw', 'One-Euro', f'{kind}, constant Σ')
            required = 'occluded: below raw, One-Euro, constant Σ'
            passed = all(errors[name] < errors[rival] for rival in rivals)
        if name == 'smoother, Σ of the frame':
            metrics['90% covers'] = covered
        rows.append(Row(f'{name} ({title})', metrics, required, passed))
    return rows


def run(quick: bool = False) -> list[Row]:
    """Six rows for independent errors, and six for errors that persist."""
    count, frames = (3, 40) if quick else (12, 100)
    return [row for persistence in (0.0, 0.8) for row in judge(persistence, count, frames)]
