"""People over time: who is who in the next frame, and where a Kalman filter places the joints.

The measurement noise is the predicted covariance of all joints, so that a joint that is hidden in
one frame is carried by its past, by its neighbours and, in a file, by its future.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from hetpose.ops.kalman import (
    Gaussian,
    Motion,
    constant_velocity,
    limb_correlation,
    predict,
    smooth_sequence,
    update,
    with_error,
)
from hetpose.ops.spd import symmetric_sqrt

_VAGUE = 10.0  # people's sizes: how little is known of a joint before it is first seen

_SHORTEST = 1e-4  # seconds between two frames, whatever the clock of a camera shows


@dataclass(frozen=True)
class MotionSettings:
    """A model of how people move; lengths are in longer sides of their boxes.

    Args:
        acceleration: How fast a joint's velocity drifts: after one second its standard deviation
            is this many sizes per second.
        coupling: How alike neighbouring joints move; see ``ops.kalman.limb_correlation``.
        persistence: Seconds over which the errors of one joint stay alike, as they do when the
            network is misled by the same shadow in frame after frame. Independent errors have 0;
            to assume so where it is not true makes the smoothed covariance too small.
        speed: Standard deviation of the first velocity, in sizes per second.
        gap: Seconds after which somebody who was not found again is forgotten.
        likeness: Smallest similarity, 0 to 1, of somebody found with where he was expected.
    """

    acceleration: float = 2.0
    coupling: float = 4.0
    persistence: float = 0.1
    speed: float = 1.0
    gap: float = 0.5
    likeness: float = 0.2

    def __post_init__(self) -> None:
        for name in ('acceleration', 'speed', 'gap'):
            if not getattr(self, name) > 0:
                raise ValueError(f'{name}: expected a number above 0, got {getattr(self, name)}')
        if not self.persistence >= 0:
            raise ValueError(f'persistence: expected a number >= 0, got {self.persistence}')


@dataclass(frozen=True)
class Person:
    """Somebody in one frame: joints (K, 2), their covariance (2K, 2K), the box's longer side.

    A joint that is NaN is missing.
    """

    joints: np.ndarray
    covariance: np.ndarray
    size: float


class Track:
    """One person over time: a filter, and what a smoother needs to go back."""

    def __init__(self, settings: MotionSettings, likeness: Tensor) -> None:
        self.settings = settings
        self.likeness = torch.kron(likeness, torch.eye(2, dtype=torch.float64))
        self.times: list[float] = []
        self.states: list[Gaussian] = []
        self.motions: list[Motion] = []
        self.log_likelihood = 0.0

    def _motion(self, seconds: float, size: float) -> Motion:
        drift = (self.settings.acceleration * size) ** 2 * self.likeness
        motion, memory = constant_velocity(drift, seconds), self.settings.persistence
        return with_error(motion, math.exp(-seconds / memory)) if memory else motion

    def _start(self, person: Person) -> Gaussian:
        """The state before the first measurement: a wide Gaussian around the joints seen."""
        dim = person.joints.size
        place = np.nanmean(person.joints, axis=0)
        spread = [_VAGUE * person.size, self.settings.speed * person.size]
        spread += [1.0] if self.settings.persistence else []  # the errors have a unit variance
        mean = np.zeros(len(spread) * dim)
        mean[:dim] = np.tile(place, dim // 2)
        variance = np.repeat(np.square(spread), dim)
        return Gaussian(torch.from_numpy(mean), torch.from_numpy(np.diag(variance)))

    def expect(self, time: float) -> np.ndarray:
        """The places of the joints (K, 2) if nothing changes."""
        state, dim = self.states[-1], len(self.likeness)
        ahead = state.mean[:dim] + (time - self.times[-1]) * state.mean[dim : 2 * dim]
        return ahead.numpy().reshape(-1, 2)

    def add(self, time: float, person: Person) -> None:
        """Take a measurement; a frame without one is simply not added."""
        if self.states:
            motion = self._motion(max(time - self.times[-1], _SHORTEST), person.size)
            self.motions.append(motion)
            ahead = predict(self.states[-1], motion)
        else:
            ahead = self._start(person)
        values = torch.from_numpy(np.array(person.joints, dtype=np.float64).reshape(-1))
        noise = torch.from_numpy(np.array(person.covariance, dtype=np.float64))
        state, density = self._update(ahead, values, noise)
        self.log_likelihood += float(density)
        self.times.append(time)
        self.states.append(state)

    def _update(
        self, ahead: Gaussian, values: Tensor, covariance: Tensor
    ) -> tuple[Gaussian, Tensor]:
        """A measurement (2K,) with its covariance, of which NaN is missing."""
        present = torch.isfinite(values)
        if not self.settings.persistence:
            return update(ahead, values, covariance, present)
        root = symmetric_sqrt((covariance + covariance.mT) / 2)
        identity = torch.eye(len(root), dtype=torch.float64)
        observation = torch.cat([identity, torch.zeros_like(root), root], dim=1)
        return update(ahead, values, torch.zeros_like(root), present, observation)

    def filtered(self) -> tuple[np.ndarray, np.ndarray]:
        """The newest joints (K, 2) and covariance (2K, 2K), given all measurements so far."""
        return self._places(self.states[-1])

    def smoothed(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Joints and covariance at every time, given all measurements."""
        return [self._places(state) for state in smooth_sequence(self.states, self.motions)]

    def forget(self) -> None:
        """Keep the newest state alone."""
        del self.times[:-1], self.states[:-1], self.motions[:]

    def _places(self, state: Gaussian) -> tuple[np.ndarray, np.ndarray]:
        dim = len(self.likeness)
        return state.mean[:dim].numpy().reshape(-1, 2), state.covariance[:dim, :dim].numpy()


@dataclass
class Crowd:
    """All tracks of a film; every frame is assigned to them as a whole."""

    joints: int
    links: Sequence[Sequence[int]]
    settings: MotionSettings = field(default_factory=MotionSettings)

    def __post_init__(self) -> None:
        self.tracks: dict[int, Track] = {}
        self._active: list[int] = []
        self._count = 0
        self._likeness = limb_correlation(self.joints, self.links, self.settings.coupling)

    def add(self, time: float, people: Sequence[Person]) -> list[int]:
        """The number of the track that every person belongs to, in order."""
        self._active = [
            number
            for number in self._active
            if time - self.tracks[number].times[-1] <= self.settings.gap
        ]
        found = self._assign(time, people)
        numbers = []
        for i, person in enumerate(people):
            if i not in found:
                found[i], self._count = self._count, self._count + 1
                self.tracks[found[i]] = Track(self.settings, self._likeness)
                self._active.append(found[i])
            self.tracks[found[i]].add(time, person)
            numbers.append(found[i])
        return numbers

    def forget(self) -> None:
        """Drop the past and those who left, so that a camera may run for days."""
        self.tracks = {number: self.tracks[number] for number in self._active}
        for track in self.tracks.values():
            track.forget()

    def _assign(self, time: float, people: Sequence[Person]) -> dict[int, int]:
        """Pairs of a person and a track, the likeliest together, without the unlikely ones."""
        table = np.zeros((len(people), len(self._active)))
        for column, number in enumerate(self._active):
            expected = self.tracks[number].expect(time)
            for row, person in enumerate(people):
                table[row, column] = similarity(person, expected)
        rows, columns = linear_sum_assignment(-table)
        return {
            int(row): self._active[column]
            for row, column in zip(rows, columns, strict=True)
            if table[row, column] >= self.settings.likeness
        }


def similarity(person: Person, expected: np.ndarray, scale: float = 0.1) -> float:
    """Mean of exp(−|δ|² / 2(scale·size)²) over the joints, as OKS measures it, in [0, 1].

    Shapes: expected (K, 2).
    """
    distance = ((person.joints - expected) ** 2).sum(-1) / (scale * person.size) ** 2
    alike = np.exp(-distance / 2)
    return float(np.nanmean(alike)) if np.isfinite(alike).any() else 0.0
