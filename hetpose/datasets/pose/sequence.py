"""Moving figures whose true joints, and whose labels' covariance, are known in every frame."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import PchipInterpolator

from hetpose.datasets.pose.figure import LIMBS, NECK, K, Occluder, Scene, render, sample_pose
from hetpose.datasets.pose.label_noise import noise_causes, occlusion

_MOTION, _SCENE, _PIXELS, _NOISE = range(4)  # independent random streams of one sequence
_SECONDS_A_POSE = 0.6  # from one key pose to the next
_OCCLUDERS = 3


@dataclass(frozen=True)
class Motion:
    """The joints of a figure at every time: its limbs turn from key pose to key pose.

    angles, lengths: of every limb, from the neck outwards, at the key poses (P, len(LIMBS));
    places: of the neck, (P, 2); times: (P,) in seconds.
    """

    times: np.ndarray
    angles: np.ndarray
    lengths: np.ndarray
    places: np.ndarray

    def joints(self, times: np.ndarray) -> np.ndarray:
        """The joints (T, K, 2) at ``times`` (T,)."""
        angles, lengths, places = (
            PchipInterpolator(self.times, values)(times)
            for values in (self.angles, self.lengths, self.places)
        )
        joints = np.zeros((len(times), K, 2))
        joints[:, NECK] = places
        for limb, (parent, child) in enumerate(LIMBS):
            turn = np.stack([np.cos(angles[:, limb]), np.sin(angles[:, limb])], axis=-1)
            joints[:, child] = joints[:, parent] + lengths[:, limb, None] * turn
        return joints


def sample_motion(rng: np.random.Generator, seconds: float) -> Motion:
    """Random key poses of one figure of about unit size, in a place that drifts."""
    count = int(np.ceil(seconds / _SECONDS_A_POSE)) + 2
    poses = np.stack([sample_pose(rng) for _ in range(count)])
    parents, children = np.array(LIMBS).T
    limbs = poses[:, children] - poses[:, parents]
    # One body keeps its bones. From the front they look shorter or longer, here by a little.
    lengths = np.linalg.norm(limbs, axis=-1).mean(0) * rng.uniform(0.95, 1.05, (count, len(LIMBS)))
    angles = np.unwrap(np.arctan2(limbs[..., 1], limbs[..., 0]), axis=0)
    places = poses[0, NECK] + np.cumsum(rng.normal(0, 0.05, (count, 2)), axis=0)
    times = np.arange(count) * _SECONDS_A_POSE
    return Motion(times, angles, lengths, places)


class SyntheticPoseSequence:
    """A film of one figure that moves behind things, LSP's 14 joints, made from (seed, index).

    As in SyntheticPose a label is the true place plus Gaussian noise, whose covariance follows
    from what the frame shows (``label_noise``). Some of the things that hide joints stand still,
    one crosses the image; the focus breathes.

    Args:
        frames: Number of frames.
        seed, index: Two sequences that differ in either share nothing.
        image_size: Rows and columns of a frame.
        fps: Frames per second.
        noise: Multiplies the standard deviation of the label noise.
        persistence: Correlation of the noise between one frame and the next, 0 to below 1; the
            covariance in each frame is the same for all.
    """

    def __init__(
        self,
        frames: int = 100,
        seed: int = 0,
        index: int = 0,
        image_size: int = 128,
        fps: float = 25.0,
        noise: float = 1.0,
        persistence: float = 0.0,
    ) -> None:
        if frames < 1 or not 32 <= image_size <= 1000 or fps <= 0 or noise <= 0:
            raise ValueError(
                'SyntheticPoseSequence needs frames >= 1, image_size in 32..1000, fps > 0 and '
                f'noise > 0; got {frames}, {image_size}, {fps}, {noise}'
            )
        if not 0 <= persistence < 1:
            raise ValueError(f'persistence: expected a number in 0 <= p < 1, got {persistence}')
        self.frames, self.seed, self.index, self.fps = frames, seed, index, fps
        self.image_size, self.noise, self.persistence = image_size, noise, persistence
        self.times = np.arange(frames) / fps
        self.height, self.joints = self._place(sample_motion(self._rng(_MOTION), frames / fps))
        self._stage = self._furnish(self._rng(_SCENE))

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.index, stream])

    def _place(self, motion: Motion) -> tuple[float, np.ndarray]:
        """The figure's height in pixels, and its joints (T, K, 2), all within the image."""
        joints = motion.joints(self.times)
        low, high = joints.min((0, 1)), joints.max((0, 1))
        height = 0.9 * self.image_size / float((high - low).max())
        return height, (joints - (low + high) / 2) * height + (self.image_size - 1) / 2

    def _furnish(self, rng: np.random.Generator) -> Scene:
        """The things in the first frame; the last of the occluders moves."""
        occluders = []
        for _ in range(_OCCLUDERS):
            frame, joint = rng.integers(self.frames), rng.integers(K)
            axes = rng.uniform(0.07, 0.14, 2) * self.height
            degrees, opacity = rng.uniform(0, 180), rng.uniform(0.75, 0.98)
            centre = self.joints[frame, joint]
            occluders.append(Occluder(centre, axes, degrees, opacity, rng.random() < 0.5))
        focus = rng.uniform(0, 1) ** 2
        return Scene(self.image_size, self.joints[0], self.height, tuple(occluders), (), focus)

    def scene(self, frame: int) -> Scene:
        """The scene of one frame."""
        *standing, moving = self._stage.occluders
        share = frame / max(self.frames - 1, 1)
        crossing = np.array([share * self.image_size, moving.centre[1]])
        breath = 0.5 + 0.5 * np.cos(2 * np.pi * self.times[frame] / 3)
        return replace(
            self._stage,
            joints=self.joints[frame],
            occluders=(*standing, replace(moving, centre=crossing)),
            defocus=self._stage.defocus * breath,
        )

    def image(self, frame: int) -> np.ndarray:
        """Image (size, size, 3) uint8, BGR; the background is the same in all frames."""
        return render(self.scene(frame), self._rng(_PIXELS))

    def covariances(self) -> np.ndarray:
        """The covariance (T, 2K, 2K) of the labels, in pixels²."""
        causes = self._causes()
        return causes @ causes.swapaxes(-1, -2)

    def labels(self) -> np.ndarray:
        """The joints with their noise (T, K, 2)."""
        rng, causes = self._rng(_NOISE), self._causes()
        state = rng.standard_normal((causes.shape[-1],))
        errors = []
        for cause in causes:
            errors.append((cause @ state).reshape(K, 2))
            fresh = rng.standard_normal(len(state))
            state = self.persistence * state + np.sqrt(1 - self.persistence**2) * fresh
        return self.joints + np.stack(errors)

    def occlusions(self) -> np.ndarray:
        """The depth of every joint under an occluder, (T, K) in [0, 1]."""
        return np.stack([occlusion(self.scene(frame)) for frame in range(self.frames)])

    def _causes(self) -> np.ndarray:
        return np.stack([noise_causes(self.scene(t), self.noise) for t in range(self.frames)])
