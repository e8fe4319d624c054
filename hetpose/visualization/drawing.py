"""Drawing on an image, in place: light lines on a dark halo, so that they show on any background.

Images are RGB uint8 arrays (H, W, 3). Positions are pixels (x, y) with fractions; the
first pixel has its middle at (0, 0).

People with any form of colour blindness tell the colours apart. Left and right have the sky blue
and the orange of Okabe and Ito. The centre has white: next to these two it stays furthest apart
under simulated protanopia, deuteranopia and tritanopia (a CIELAB distance of at least 41; their
yellow has 17, their green 16).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from hetpose.visualization.geometry import ellipse_points

_SHIFT = 4  # cv2 takes fractions of a pixel as fixed-point integers with this many bits
_FAR = float(1 << 20)  # positions beyond this overflow cv2's fixed-point arithmetic
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_FONT_PIXELS = 22  # height of a capital in _FONT at scale 1
_LEGIBLE = 7.0  # pixels of a capital
_TINTED = 0.12  # of the image's side: larger ellipses have a weaker tint

LEFT, RIGHT, CENTRE = 'left', 'right', 'centre'
SIDE_COLOURS = {LEFT: (86, 180, 233), RIGHT: (230, 159, 0), CENTRE: (255, 255, 255)}
HALO = (20, 20, 20)
TEXT = (255, 255, 255)
BOX = (204, 121, 167)
# Bones of several people in one picture: Okabe and Ito's colours that no side has.
PERSON_COLOURS = (
    (0, 158, 115),
    (240, 228, 66),
    (204, 121, 167),
    (213, 94, 0),
    (0, 114, 178),
    (153, 153, 153),
)

Colour = tuple[int, int, int]


def joint_sides(names: Sequence[str]) -> list[str]:
    """Side of every joint, from its name: ``left_wrist``, ``LeftHip``, ``l_knee``, ``neck``."""
    return [_joint_side(name) for name in names]


def _joint_side(name: str) -> str:
    name = name.lower()
    for side in (LEFT, RIGHT):
        if side in name or name.startswith((f'{side[0]}_', f'{side[0]}-')):
            return side
    return CENTRE


def link_side(first: str, second: str) -> str:
    """The side of a bone: that of its lateral joint; the centre where it joins left with right."""
    lateral = {first, second} - {CENTRE}
    return lateral.pop() if len(lateral) == 1 else CENTRE


def person_colour(number: int, people: int) -> Colour | None:
    """The colour of the bones of one of several people; None for a person who is alone."""
    return None if people < 2 else PERSON_COLOURS[number % len(PERSON_COLOURS)]


@dataclass(frozen=True)
class Stroke:
    """Widths in pixels: of a line, of the halo that it lies on, and the radius of a joint."""

    line: int
    halo: int
    radius: int

    @classmethod
    def for_image(cls, image: np.ndarray, scale: float = 1.0) -> Stroke:
        """Widths that look alike on a thumbnail and on a poster."""
        unit = scale * _side(image) / 400
        line = max(1, round(unit))
        halo = line + 2 * max(1, round(0.8 * unit))
        return cls(line, halo, radius=max(1, round(2 * unit)))

    @classmethod
    def for_person(cls, image: np.ndarray, keypoints: np.ndarray, scale: float = 1.0) -> Stroke:
        """Thinner, down to half, for a person who is small in the image; keypoints (K, 2)."""
        finite = keypoints[np.isfinite(keypoints).all(-1)]
        extent = float(np.ptp(finite, axis=0).max()) if len(finite) else 0.0
        return cls.for_image(image, scale * float(np.clip(3 * extent / _side(image), 0.5, 1)))


def _side(image: np.ndarray) -> float:
    """Side of the square of the image's area, in pixels."""
    return float(np.sqrt(image.shape[0] * image.shape[1]))


def _fixed_point(points: np.ndarray) -> np.ndarray:
    return np.round(np.clip(points, -_FAR, _FAR) * (1 << _SHIFT)).astype(np.int32)


def draw_polyline(
    image: np.ndarray, points: np.ndarray, colour: Colour, width: int, closed: bool = False
) -> None:
    """Draw a line through ``points`` (N, 2)."""
    vertices = _fixed_point(points).reshape(1, -1, 2)
    cv2.polylines(image, list(vertices), closed, colour, width, cv2.LINE_AA, _SHIFT)


def draw_dot(image: np.ndarray, center: np.ndarray, colour: Colour, radius: float) -> None:
    """Draw a filled circle."""
    x, y = (int(value) for value in _fixed_point(center))
    cv2.circle(image, (x, y), round(radius * (1 << _SHIFT)), colour, -1, cv2.LINE_AA, _SHIFT)


def _tint(image: np.ndarray, ring: np.ndarray, colour: Colour, opacity: float = 0.2) -> None:
    """Colour the inside of a closed line, so that an ellipse is not taken for a bone.

    One that covers much of the image is tinted less, so that many of them do not bury it.
    """
    height, width = image.shape[:2]
    extent = float(np.sqrt(np.prod(np.ptp(ring, axis=0))))
    opacity *= min(1.0, _TINTED * _side(image) / max(extent, 1e-6))
    low = np.floor(ring.min(0)).clip(0, (width, height)).astype(int)
    high = np.ceil(ring.max(0) + 1).clip(0, (width, height)).astype(int)
    if (high <= low).any():
        return
    part = image[low[1] : high[1], low[0] : high[0]]
    mask = np.zeros(part.shape[:2], np.uint8)
    cv2.fillPoly(mask, [_fixed_point(ring - low)], (255,), cv2.LINE_8, _SHIFT)
    inside = mask > 0
    part[inside] = ((1 - opacity) * part[inside] + opacity * np.asarray(colour)).astype(np.uint8)


def draw_ellipses(
    image: np.ndarray,
    centers: np.ndarray,
    covariances: np.ndarray,
    colours: Sequence[Colour],
    coverage: float,
    stroke: Stroke,
    degrees_of_freedom: float | None = None,
) -> None:
    """Draw the ellipse of a stated coverage around every centre; of a Student-t by its quantile.

    Shapes: centers (N, 2), covariances (N, 2, 2).
    """
    if not len(centers):
        return
    nu = degrees_of_freedom
    rings = ellipse_points(centers, covariances, coverage, degrees_of_freedom=nu)
    for ring, colour in zip(rings, colours, strict=True):
        _tint(image, ring, colour)
    for ring in rings:
        draw_polyline(image, ring, HALO, stroke.halo, closed=True)
    for ring, colour in zip(rings, colours, strict=True):
        draw_polyline(image, ring, colour, stroke.line, closed=True)


def draw_skeleton(
    image: np.ndarray,
    keypoints: np.ndarray,
    shown: np.ndarray,
    sides: Sequence[str],
    links: Sequence[Sequence[int]],
    stroke: Stroke,
    bone_colour: Colour | None = None,
) -> None:
    """Draw the bones between shown joints, then the joints.

    Bones have the colours of their sides, or one colour that tells whose they are.

    Shapes: keypoints (K, 2), shown (K,) bool.
    """
    bones = [(a, b) for a, b in links if shown[a] and shown[b]]
    for a, b in bones:
        draw_polyline(image, keypoints[[a, b]], HALO, stroke.halo)
    for a, b in bones:
        colour = bone_colour or SIDE_COLOURS[link_side(sides[a], sides[b])]
        draw_polyline(image, keypoints[[a, b]], colour, stroke.line)
    rim = (stroke.halo - stroke.line) / 2
    for k in np.flatnonzero(shown).tolist():
        draw_dot(image, keypoints[k], HALO, stroke.radius + rim)
        draw_dot(image, keypoints[k], SIDE_COLOURS[sides[k]], stroke.radius)


def draw_pose(
    image: np.ndarray,
    keypoints: np.ndarray,
    sides: Sequence[str],
    links: Sequence[Sequence[int]],
    covariances: np.ndarray | None = None,
    shown: np.ndarray | None = None,
    coverage: float = 0.9,
    stroke: Stroke | None = None,
    degrees_of_freedom: float | None = None,
    bone_colour: Colour | None = None,
) -> None:
    """Draw one person: ellipses of a stated coverage under the skeleton.

    Joints that are not finite, or that ``shown`` leaves out, are not drawn. ``bone_colour`` is
    that of the person's bones where there are several people.

    Shapes: keypoints (K, 2), covariances (K, 2, 2), shown (K,) bool.
    """
    keypoints = np.asarray(keypoints, dtype=np.float64)
    stroke = stroke or Stroke.for_person(image, keypoints)
    shown = np.ones(len(keypoints), bool) if shown is None else np.asarray(shown, bool)
    shown = shown & np.isfinite(keypoints).all(-1)
    if covariances is not None:
        covariances = np.asarray(covariances, dtype=np.float64)
        chosen = np.flatnonzero(shown & np.isfinite(covariances).all((-2, -1)))
        colours = [SIDE_COLOURS[sides[int(k)]] for k in chosen]
        centers, blocks = keypoints[chosen], covariances[chosen]
        draw_ellipses(image, centers, blocks, colours, coverage, stroke, degrees_of_freedom)
    draw_skeleton(image, keypoints, shown, sides, links, stroke, bone_colour)


def draw_text(
    image: np.ndarray, text: str, position: tuple[int, int], height: float, colour: Colour = TEXT
) -> int:
    """Write text of a stated capital height, its baseline starting at ``position``.

    Returns its width in pixels.
    """
    scale = height / _FONT_PIXELS
    thickness = max(1, round(height / 9))
    cv2.putText(image, text, position, _FONT, scale, HALO, 3 * thickness, cv2.LINE_AA)
    cv2.putText(image, text, position, _FONT, scale, colour, thickness, cv2.LINE_AA)
    return cv2.getTextSize(text, _FONT, scale, thickness)[0][0]


def draw_legend(image: np.ndarray, title: str, sides: Sequence[str]) -> None:
    """Write in the lower left corner what the ellipses and the colours mean.

    A narrow image gets smaller letters, then fewer words: the colours' names go first.
    """
    words, height = _fitting_words(image, title, sides)
    pad = max(2, round(0.6 * height))
    width, baseline = round(_legend_width(words, height)), image.shape[0] - 2 * pad
    top = max(0, round(baseline - height - pad))
    corner = image[top : image.shape[0] - pad // 2, pad // 2 : pad // 2 + width]
    corner[:] = (0.4 * corner + 0.6 * np.asarray(HALO)).astype(np.uint8)
    x = pad
    for i, word in enumerate(words):
        colour = TEXT if i == 0 else SIDE_COLOURS[word]
        x += draw_text(image, word, (x, baseline), height, colour) + round(0.8 * height)


def _fitting_words(image: np.ndarray, title: str, sides: Sequence[str]) -> tuple[list[str], float]:
    """The longest legend that fits the image in legible letters, and their height."""
    present = [side for side in (LEFT, RIGHT, CENTRE) if side in sides]
    wanted = max(_LEGIBLE, 0.016 * _side(image))
    choices = [[title, *present]] if len(present) > 1 else []
    choices += [[title], title.split()[:1]]
    for words in choices:
        height = min(wanted, wanted * 0.9 * image.shape[1] / _legend_width(words, wanted))
        if height >= _LEGIBLE:
            return words, height
    return choices[-1], _LEGIBLE


def _legend_width(words: Sequence[str], height: float) -> float:
    scale = height / _FONT_PIXELS
    thickness = max(1, round(height / 9))
    widths = [cv2.getTextSize(word, _FONT, scale, thickness)[0][0] for word in words]
    return sum(widths) + 0.8 * height * len(words) + 1.2 * height
