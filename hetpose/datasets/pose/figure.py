"""Articulated figures: random poses and their rendering with OpenCV.

A figure is drawn from a numpy Generator alone, so (seed, index) fixes the image. Right limbs are
warm and left limbs cool, so that a small network can tell the sides apart. What makes a label
uncertain is drawn: occluders, a local blur, a defocus of the whole image.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

K = 14
R_ANKLE, R_KNEE, R_HIP, L_HIP, L_KNEE, L_ANKLE = range(6)
R_WRIST, R_ELBOW, R_SHOULDER, L_SHOULDER, L_ELBOW, L_WRIST, NECK, HEAD = range(6, 14)
# (parent, child), from the trunk outwards
LIMBS = (
    (NECK, HEAD),
    (NECK, R_SHOULDER),
    (NECK, L_SHOULDER),
    (R_SHOULDER, R_ELBOW),
    (R_ELBOW, R_WRIST),
    (L_SHOULDER, L_ELBOW),
    (L_ELBOW, L_WRIST),
    (NECK, R_HIP),
    (NECK, L_HIP),
    (R_HIP, R_KNEE),
    (R_KNEE, R_ANKLE),
    (L_HIP, L_KNEE),
    (L_KNEE, L_ANKLE),
)
# parent, child, radii at the two ends as shares of the figure's height; legs under arms
_DRAWN = (
    (R_HIP, R_KNEE, 0.042, 0.032),
    (R_KNEE, R_ANKLE, 0.031, 0.022),
    (L_HIP, L_KNEE, 0.042, 0.032),
    (L_KNEE, L_ANKLE, 0.031, 0.022),
    (R_SHOULDER, R_ELBOW, 0.031, 0.025),
    (R_ELBOW, R_WRIST, 0.024, 0.018),
    (L_SHOULDER, L_ELBOW, 0.031, 0.025),
    (L_ELBOW, L_WRIST, 0.024, 0.018),
)
_SQUARE = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
_CIRCLE = np.stack([f(np.linspace(0, 2 * np.pi, 24, endpoint=False)) for f in (np.cos, np.sin)], 1)
_SHIFT = 4  # fractional bits of OpenCV's drawing coordinates
_GRAIN = np.random.default_rng(0).normal(0, 5, (1024, 1024)).astype(np.int16)


@dataclass(frozen=True)
class Occluder:
    """A translucent box or ellipse: centre (2,), half axes (2,), rotation, opacity in [0, 1]."""

    centre: np.ndarray
    axes: np.ndarray
    degrees: float
    opacity: float
    is_round: bool

    @property
    def basis(self) -> np.ndarray:
        """Its two axes as rows (2, 2)."""
        angle = np.deg2rad(self.degrees)
        return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])

    def outline(self) -> np.ndarray:
        """Corners (n, 2) of the shape."""
        corners = _CIRCLE if self.is_round else _SQUARE
        return corners * self.axes @ self.basis + self.centre


@dataclass(frozen=True)
class Scene:
    """The content of one image of ``size`` rows and columns. Coordinates are in its pixels."""

    size: int
    joints: np.ndarray  # (K, 2) float64, the truth
    height: float  # of the figure, in pixels: the unit of all noise
    occluders: tuple[Occluder, ...]
    blurs: tuple[tuple[np.ndarray, float, float], ...]  # centre, radius, strength in [0, 1]
    defocus: float  # of the whole image, in [0, 1]


def _direction(degrees: float) -> np.ndarray:
    """Unit vector; 0 points down in the image, 90 to the image's right."""
    radians = np.deg2rad(degrees)
    return np.array([np.sin(radians), np.cos(radians)])


def sample_pose(rng: np.random.Generator) -> np.ndarray:
    """Joints (K, 2) of a figure of about unit size, seen from the front, y downwards."""
    joints = np.zeros((K, 2))
    lean = rng.normal(0, 9)
    up, across = -_direction(lean), _direction(lean + 90)
    spine = 0.30 * rng.uniform(0.92, 1.08)
    joints[NECK] = up * spine
    joints[HEAD] = joints[NECK] - 0.17 * _direction(lean + rng.normal(0, 12))
    shoulder, hip = 0.105 * rng.uniform(0.9, 1.1), 0.065 * rng.uniform(0.9, 1.1)
    for side, (s, e, w, h, k, a) in (
        (-1, (R_SHOULDER, R_ELBOW, R_WRIST, R_HIP, R_KNEE, R_ANKLE)),
        (1, (L_SHOULDER, L_ELBOW, L_WRIST, L_HIP, L_KNEE, L_ANKLE)),
    ):
        joints[s] = joints[NECK] + side * shoulder * across - 0.02 * up
        joints[h] = side * hip * across
        arm = rng.uniform(5, 140)
        joints[e] = joints[s] + 0.165 * _direction(lean + side * arm)
        joints[w] = joints[e] + 0.155 * _direction(lean + side * (arm + rng.uniform(-30, 95)))
        leg = rng.uniform(-6, 48)
        joints[k] = joints[h] + 0.235 * _direction(lean + side * leg)
        joints[a] = joints[k] + 0.225 * _direction(lean + side * (leg - rng.uniform(-12, 65)))
    return joints


def sample_scene(rng: np.random.Generator, size: int) -> Scene:
    """A figure that fills the image, under up to three occluders, a blurred patch, a defocus."""
    joints = sample_pose(rng)
    extent = np.ptp(joints, axis=0).max()
    height = size * rng.uniform(0.68, 0.84) / extent  # pixels per unit of the pose
    joints = (joints - (joints.min(0) + joints.max(0)) / 2) * height
    slack = (size * 0.94 - np.ptp(joints, axis=0)) / 2
    joints += (size - 1) / 2 + rng.uniform(-0.6, 0.6, 2) * slack
    chosen = rng.permutation(K)
    occluders = []
    for joint in chosen[: rng.integers(0, 4)]:
        centre = joints[joint] + rng.normal(0, 0.025, 2) * height
        axes = rng.uniform(0.055, 0.12, 2) * height
        degrees, opacity, is_round = (
            rng.uniform(0, 180),
            rng.uniform(0.6, 0.95),
            rng.random() < 0.5,
        )
        occluders.append(Occluder(centre, axes, degrees, opacity, is_round))
    blurs = []
    for joint in chosen[K - rng.integers(0, 2) :]:
        centre = joints[joint] + rng.normal(0, 0.03, 2) * height
        blurs.append((centre, rng.uniform(0.12, 0.22) * height, rng.uniform(0.5, 1)))
    defocus = rng.uniform(0, 1) ** 2
    return Scene(size, joints, float(height), tuple(occluders), tuple(blurs), float(defocus))


def _fixed(points: np.ndarray) -> np.ndarray:
    return np.round(np.asarray(points) * (1 << _SHIFT)).astype(np.int32)


def _polygon(image: np.ndarray, points: np.ndarray, colour: tuple[float, ...]) -> None:
    cv2.fillConvexPoly(image, _fixed(points), colour, cv2.LINE_AA, _SHIFT)


def _disc(image: np.ndarray, centre: np.ndarray, radius: float, colour: tuple[float, ...]) -> None:
    x, y, r = (round(float(v) * (1 << _SHIFT)) for v in (*centre, radius))
    cv2.circle(image, (x, y), r, colour, -1, cv2.LINE_AA, _SHIFT)


def _limb(
    image: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    radii: tuple[float, float],
    colour: tuple[float, ...],
) -> None:
    """A tapered capsule."""
    r0, r1 = radii
    along = end - start
    normal = np.array([-along[1], along[0]]) / max(float(np.hypot(*along)), 1e-6)
    _polygon(
        image,
        np.stack([start + r0 * normal, end + r1 * normal, end - r1 * normal, start - r0 * normal]),
        colour,
    )
    _disc(image, start, r0, colour)
    _disc(image, end, r1, colour)


def _shade(colour: np.ndarray, factor: float) -> tuple[float, ...]:
    return tuple((colour * factor).tolist())  # OpenCV saturates


def _hsv(hue: float, saturation: float, value: float) -> np.ndarray:
    pixel = np.array([[[hue % 180, saturation, value]]]).clip(0, 255).astype(np.uint8)
    return cv2.cvtColor(pixel, cv2.COLOR_HSV2BGR)[0, 0].astype(np.float64)


def _background(rng: np.random.Generator, size: int) -> np.ndarray:
    """Muted colour fields, a few shapes and a floor."""
    tint = _hsv(rng.uniform(0, 180), rng.uniform(10, 70), rng.uniform(70, 190))
    coarse = tint + rng.normal(0, 16, (5, 5, 3)) + np.linspace(18, -18, 5)[:, None, None]
    image = cv2.resize(
        coarse.clip(0, 255).astype(np.uint8), (size, size), None, 0, 0, cv2.INTER_CUBIC
    )
    for _ in range(rng.integers(2, 6)):
        colour = _shade(tint + rng.normal(0, 22, 3), 1.0)
        centre, axes = rng.uniform(0, size, 2), rng.uniform(0.05, 0.3, 2) * size
        shape = Occluder(centre, axes, rng.uniform(0, 90), 1.0, rng.random() < 0.5)
        _polygon(image, shape.outline(), colour)
    floor = int(size * rng.uniform(0.78, 0.92))
    image[floor:] = (image[floor:] * rng.uniform(0.6, 0.85)).astype(np.uint8)
    return image


def _draw_figure(image: np.ndarray, scene: Scene, rng: np.random.Generator) -> None:
    """Outline, body, highlight; right limbs in a warm hue, left limbs in a cool one."""
    joints, unit = scene.joints, scene.height
    value = rng.uniform(190, 250)
    warm = _hsv(rng.uniform(2, 16), rng.uniform(170, 230), value)
    cool = _hsv(rng.uniform(88, 112), rng.uniform(150, 220), value)
    shirt = _hsv(rng.uniform(0, 180), rng.uniform(20, 90), rng.uniform(150, 245))
    skin = _hsv(rng.uniform(8, 14), rng.uniform(60, 130), rng.uniform(130, 245))
    edge = max(0.006 * unit, 0.6)

    def limb(parent: int, child: int, r0: float, r1: float) -> None:
        colour = warm if parent in (R_HIP, R_KNEE, R_SHOULDER, R_ELBOW) else cool
        start, end, r0, r1 = joints[parent], joints[child], r0 * unit, r1 * unit
        _limb(image, start, end, (r0 + edge, r1 + edge), _shade(colour, 0.35))
        _limb(image, start, end, (r0, r1), _shade(colour, 0.9))
        light = -0.25 * r0
        _limb(image, start + light, end + light, (0.4 * r0, 0.4 * r1), _shade(colour, 1.15))
        _disc(image, end, 0.55 * r1, _shade(colour, 0.6))

    for part in _DRAWN[:4]:
        limb(*part)
    trunk = joints[[R_SHOULDER, L_SHOULDER, L_HIP, R_HIP]]
    middle = trunk.mean(0)
    _polygon(image, middle + (trunk - middle) * 1.22, _shade(shirt, 0.4))
    _polygon(image, middle + (trunk - middle) * 1.14, _shade(shirt, 0.95))
    neck, top = joints[NECK], joints[HEAD]
    _limb(image, neck, neck + 0.4 * (top - neck), (0.028 * unit, 0.024 * unit), _shade(skin, 0.75))
    centre, radius = neck + 0.62 * (top - neck), 0.38 * float(np.hypot(*(top - neck)))
    _disc(image, centre, radius + edge, _shade(skin, 0.4))
    _disc(image, centre, radius, _shade(skin, 1.0))
    for part in _DRAWN[4:]:
        limb(*part)


def _veil(image: np.ndarray, scene: Scene, rng: np.random.Generator) -> None:
    """Blurred patches, then translucent occluders with a bright rim."""
    size, unit = scene.size, scene.height
    for centre, radius, strength in scene.blurs:
        low = np.clip((centre - radius).astype(int), 0, size - 1)
        high = np.clip((centre + radius).astype(int) + 1, 1, size)
        patch = image[low[1] : high[1], low[0] : high[0]]
        if patch.size:
            yy, xx = np.mgrid[low[1] : high[1], low[0] : high[0]]
            weight = soft_disc(np.stack([xx, yy], -1), centre, radius)[..., None]
            soft = cv2.GaussianBlur(patch, (0, 0), 0.045 * unit * strength)
            patch[:] = (patch + weight * (soft.astype(np.float32) - patch)).astype(np.uint8)
    for occluder in scene.occluders:
        points = occluder.outline()
        low = np.clip(points.min(0).astype(int) - 2, 0, size)
        high = np.clip(points.max(0).astype(int) + 3, 0, size)
        patch = image[low[1] : high[1], low[0] : high[0]]
        if patch.size:
            layer = patch.copy()
            dark = _hsv(rng.uniform(125, 150), 60, rng.uniform(40, 80))
            _polygon(layer, points - low, _shade(dark, 1.0))
            patch[:] = cv2.addWeighted(layer, occluder.opacity, patch, 1 - occluder.opacity, 0)
        cv2.polylines(image, [_fixed(points)], True, (225, 225, 225), 1, cv2.LINE_AA, _SHIFT)


def soft_disc(points: np.ndarray, centre: np.ndarray, radius: float) -> np.ndarray:
    """1 in the inner half of a disc, falling smoothly to 0 at its rim, for points (..., 2)."""
    distance = np.linalg.norm(points - centre, axis=-1) / radius
    ramp = np.clip(2 * (1 - distance), 0, 1)
    return ramp * ramp * (3 - 2 * ramp)


def render(scene: Scene, rng: np.random.Generator) -> np.ndarray:
    """Image (size, size, 3) uint8, BGR."""
    y, x = rng.integers(0, len(_GRAIN) - scene.size, 2)
    image = np.ascontiguousarray(_background(rng, scene.size))
    _draw_figure(image, scene, rng)
    if scene.defocus > 0.05:
        image = cv2.GaussianBlur(image, (0, 0), 0.014 * scene.height * scene.defocus)
    _veil(image, scene, rng)
    grain = cv2.merge([_GRAIN[y : y + scene.size, x : x + scene.size]] * 3)
    return cv2.add(image, grain, dtype=cv2.CV_8U)
