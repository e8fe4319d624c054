"""Drawn points lie at the places of the numbers."""

import numpy as np
import pytest

from hetpose.visualization.drawing import (
    HALO,
    SIDE_COLOURS,
    Stroke,
    draw_ellipses,
    draw_legend,
    draw_pose,
)
from hetpose.visualization.geometry import ellipse_axes

COVARIANCE = np.array([[[400.0, 120.0], [120.0, 150.0]]])
CENTER = np.array([[150.0, 100.0]])


def drawn(center: np.ndarray = CENTER, background: int = 255, coverage: float = 0.9) -> np.ndarray:
    image = np.full((200, 300, 3), background, np.uint8)
    draw_ellipses(image, center, COVARIANCE, [(0, 0, 255)], coverage, Stroke(1, 3, 2))
    return image


def extent(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and last column and row of the line itself."""
    y, x = np.nonzero((image[..., 2] > 200) & (image[..., 0] < 60))
    return np.array([x.min(), y.min()]), np.array([x.max(), y.max()])


def test_an_ellipse_spans_radius_times_the_standard_deviations() -> None:
    from scipy.stats import chi2

    low, high = extent(drawn())
    half = np.sqrt(chi2(2).ppf(0.9) * np.diagonal(COVARIANCE[0]))
    np.testing.assert_allclose(low, CENTER[0] - half, atol=1.5)
    np.testing.assert_allclose(high, CENTER[0] + half, atol=1.5)


def test_more_coverage_is_a_larger_ellipse() -> None:
    small, large = extent(drawn(coverage=0.5)), extent(drawn(coverage=0.99))
    assert (large[0] < small[0]).all()
    assert (large[1] > small[1]).all()


def test_moving_the_center_moves_the_ellipse() -> None:
    low, high = extent(drawn())
    moved_low, moved_high = extent(drawn(CENTER + [[20, -10]]))
    np.testing.assert_allclose(moved_low - low, [20, -10], atol=1)
    np.testing.assert_allclose(moved_high - high, [20, -10], atol=1)


@pytest.mark.parametrize('background', [0, 20, 128, 255])
def test_lines_are_seen_on_any_background(background: int) -> None:
    """The line or its halo differs much from whatever lies under it."""
    colours = [*SIDE_COLOURS.values()]
    for colour in colours:
        halo, line = np.abs(np.subtract(HALO, background)), np.abs(np.subtract(colour, background))
        assert max(halo.max(), line.max()) > 100
    assert (drawn(background=background) != background).any()


def test_widths_grow_with_the_image() -> None:
    small = Stroke.for_image(np.zeros((100, 100, 3)))
    large = Stroke.for_image(np.zeros((3000, 4000, 3)))
    assert small.line >= 1
    assert large.line > 4 * small.line
    assert large.halo > large.line


def test_what_is_not_shown_or_not_finite_leaves_no_mark() -> None:
    image = np.zeros((50, 50, 3), np.uint8)
    points = np.array([[25.0, 25.0], [np.nan, 3.0]])
    blocks = np.tile(np.eye(2), (2, 1, 1))
    draw_pose(image, points, ['left', 'right'], [(0, 1)], blocks, shown=np.array([False, True]))
    assert not image.any()


def test_an_ellipse_far_outside_and_a_huge_one_are_harmless() -> None:
    image = np.zeros((50, 50, 3), np.uint8)
    points = np.array([[1e9, -1e9], [25.0, 25.0]])
    blocks = np.stack([np.eye(2), np.eye(2) * 1e14])
    draw_pose(image, points, ['left', 'right'], [], blocks)
    assert image.shape == (50, 50, 3)


def test_axes_of_the_drawing_follow_the_correlation() -> None:
    """Σxy > 0 on an image (y down) runs from upper left to lower right."""
    _, angle = ellipse_axes(COVARIANCE[0], 0.9)
    assert 0 < angle < np.pi / 2
    image = drawn()
    y, x = np.nonzero((image[..., 2] > 200) & (image[..., 0] < 60))
    assert np.corrcoef(x, y)[0, 1] > 0.2


@pytest.mark.parametrize('size', [(40, 48), (60, 80), (2000, 300)])
def test_the_legend_fits_every_image(size: tuple[int, int]) -> None:
    image = np.full((*size, 3), 255, np.uint8)
    draw_legend(image, '90% ellipses', ['left', 'right', 'centre'])
    assert (image[:, -1] == 255).all()
    assert (image != 255).any()
