"""A picture of the predicted and the true uncertainty, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from hetpose.fileio import write_image
from hetpose.ops.spd import joint_blocks
from hetpose.visualization.drawing import Stroke, draw_polyline, draw_pose, draw_text, joint_sides
from hetpose.visualization.geometry import ellipse_points

PANEL = 384
ROWS, COLUMNS = 3, 4
BAND = 44  # height of the caption
TRUE_COLOUR = (255, 0, 200)
DASHES = 9
COVERAGE = 0.9
BACKGROUND = 24


def write_gallery(path: str | Path, dataset: Any, predicted: Sequence[Any]) -> None:
    """Draw twelve test images, from the surest to the least sure truth, as a grid.

    Solid, filled: the predicted ellipse around the predicted joint. Dashed: the true one, around
    the true joint.

    Args:
        path: A PNG file.
        dataset: A SyntheticPose.
        predicted: Its first samples with ``pred_instances``.
    """
    spread = [float(np.trace(dataset.covariance(i))) for i in range(len(predicted))]
    order = np.argsort(spread)
    chosen = order[np.linspace(0, len(order) - 1, ROWS * COLUMNS).round().astype(int)]
    panels = [draw_panel(dataset, int(i), predicted[i].pred_instances) for i in chosen]
    grid = np.vstack(
        [np.hstack(panels[row * COLUMNS : (row + 1) * COLUMNS]) for row in range(ROWS)]
    )
    picture = np.vstack([caption(grid.shape[1]), grid])
    write_image(path, cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))


def draw_panel(dataset: Any, index: int, instances: Any) -> np.ndarray:
    """One sample, enlarged, with both sets of ellipses: (PANEL, PANEL, 3) RGB."""
    image = cv2.cvtColor(dataset.image(index), cv2.COLOR_BGR2RGB)
    scale = PANEL / image.shape[0]
    image = cv2.resize(image, (PANEL, PANEL), interpolation=cv2.INTER_CUBIC)
    names = dataset.metainfo['keypoint_id2name']
    sides = joint_sides([names[k] for k in range(len(names))])
    links = dataset.metainfo['skeleton_links']
    stroke = Stroke(line=1, halo=2, radius=2)
    # The middle of pixel i lies at (i + ½) · scale − ½ of the enlarged image.
    shift = 0.5 * scale - 0.5
    covariances = np.asarray(instances.keypoint_covariances[0]) * scale**2
    draw_pose(
        image,
        instances.keypoints[0] * scale + shift,
        sides,
        links,
        covariances,
        coverage=COVERAGE,
        stroke=stroke,
    )
    truth = joint_blocks(dataset.covariance(index)) * scale**2
    for ring in ellipse_points(dataset.clean_keypoints(index) * scale + shift, truth, COVERAGE):
        _dashed(image, ring)
    cv2.rectangle(image, (0, 0), (PANEL - 1, PANEL - 1), (BACKGROUND,) * 3, 2)
    return image


def _dashed(image: np.ndarray, ring: np.ndarray) -> None:
    """A closed line with gaps through the points (P, 2) of an ellipse."""
    closed = np.vstack([ring, ring[:1]])
    cuts = np.linspace(0, len(closed) - 1, 2 * DASHES + 1).round().astype(int)
    for first, last in zip(cuts[:-1:2], cuts[1::2], strict=True):
        draw_polyline(image, closed[first : last + 1], TRUE_COLOUR, 2)


def caption(width: int) -> np.ndarray:
    """A band that explains the lines: (BAND, width, 3) RGB."""
    band = np.full((BAND, width, 3), BACKGROUND, np.uint8)
    height, baseline = 14, BAND // 2 + 7
    percent = round(100 * COVERAGE)
    x = 16
    x += draw_text(band, f'{percent}% ellipses: filled = predicted', (x, baseline), height) + 24
    draw_text(band, 'dashed = true label noise', (x, baseline), height, TRUE_COLOUR)
    note = 'from the surest (top left) to the least sure (bottom right)'
    text_width = cv2.getTextSize(note, cv2.FONT_HERSHEY_SIMPLEX, height / 22, 2)[0][0]
    draw_text(band, note, (width - text_width - 16, baseline), height)
    return band
