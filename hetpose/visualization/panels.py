"""Pictures to put next to an image: the joints' correlation matrix, and heatmaps on the image."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from hetpose.visualization.geometry import joint_correlation

PANELS = ('correlation', 'heatmaps')
_DPI = 100
_SMALLEST = 320  # pixels; a smaller matrix has no room for the joints' names


def correlation_panel(
    covariance: np.ndarray, names: Sequence[str], height: int, title: str = 'joint correlation'
) -> np.ndarray:
    """The K×K correlation of the joints' displacements as a picture.

    The height alone sets the width, so that the frames of a video have one size.

    Shapes: covariance (2K, 2K) → RGB uint8 (height, width, 3).
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    side = max(height, _SMALLEST)
    width = round(1.15 * side)
    # A quarter of a pixel more: matplotlib before 3.11 cuts 4.6 inches at 100 dpi to 459 pixels.
    inches = ((width + 0.25) / _DPI, (side + 0.25) / _DPI)
    figure = Figure(figsize=inches, dpi=_DPI, layout='constrained')
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    matrix = joint_correlation(covariance)
    # a diverging map safe for the colour-blind
    picture = axes.imshow(matrix, cmap='PuOr', vmin=-1, vmax=1)
    letters = float(np.clip(0.55 * side * 0.7 / len(names) * 72 / _DPI, 3, 12))
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=letters)
    axes.set_yticks(range(len(names)), names, fontsize=letters)
    axes.set_title(title, fontsize=letters + 2)
    figure.colorbar(picture, fraction=0.046).ax.tick_params(labelsize=letters)
    canvas.draw()
    drawn = np.asarray(canvas.buffer_rgba())[..., :3].copy()
    if side == height:
        return fit_height(drawn, height)
    return cv2.resize(drawn, (round(width * height / side), height), interpolation=cv2.INTER_AREA)


def heatmap_panel(image: np.ndarray, heatmaps: np.ndarray) -> np.ndarray:
    """The largest of the joints' heatmaps over the image, lighter where it is higher.

    Shapes: image (H, W, 3), heatmaps (K, h, w) or (h, w), stretched over it → (H, W, 3).
    """
    heat: np.ndarray = np.asarray(heatmaps, dtype=np.float32)
    heat = heat.max(0) if heat.ndim == 3 else heat
    low, high = float(heat.min()), float(heat.max())
    heat = (heat - low) / (high - low) if high > low else np.zeros_like(heat)
    heat = cv2.resize(heat, image.shape[1::-1], interpolation=cv2.INTER_LINEAR)
    colours = cv2.applyColorMap((255 * heat).astype(np.uint8), cv2.COLORMAP_INFERNO)[..., ::-1]
    return (0.4 * image + 0.6 * colours).astype(np.uint8)


def fit_height(panel: np.ndarray, height: int) -> np.ndarray:
    """Cut or pad a picture with white to a height."""
    if panel.shape[0] >= height:
        return panel[:height]
    missing = height - panel.shape[0]
    return np.pad(panel, ((0, missing), (0, 0), (0, 0)), constant_values=255)


def append_panels(image: np.ndarray, panels: Sequence[np.ndarray]) -> np.ndarray:
    """Put panels to the right of the image, which keeps its pixels' places."""
    return np.concatenate(
        [image, *(fit_height(panel, image.shape[0]) for panel in panels)], axis=1
    )
