"""Panels next to the image."""

import numpy as np

from hetpose.visualization.panels import append_panels, correlation_panel, heatmap_panel

NAMES = ['left_wrist', 'right_wrist', 'neck']


def test_panels_keep_the_image_and_its_height() -> None:
    image = np.random.default_rng(0).integers(0, 255, (90, 120, 3), dtype=np.uint8)
    panel = correlation_panel(np.eye(6), NAMES, 90)
    both = append_panels(image, [panel, panel])
    assert both.shape == (90, 120 + 2 * panel.shape[1], 3)
    np.testing.assert_array_equal(both[:, :120], image)


def test_the_size_depends_on_the_height_alone() -> None:
    other = correlation_panel(np.ones((8, 8)), [*NAMES, 'a_rather_long_name'], 400)
    assert correlation_panel(np.eye(6), NAMES, 400).shape == other.shape == (400, 460, 3)


def test_sign_of_the_correlation_shows() -> None:
    covariance = np.eye(4)
    together = covariance.copy()
    together[0, 2] = together[2, 0] = together[1, 3] = together[3, 1] = 0.9
    against = np.abs(together) * np.sign(2 * covariance - 1)
    a, b = (correlation_panel(m, NAMES[:2], 400).astype(int) for m in (together, against))
    assert np.abs(a - b).max() > 60


def test_heat_is_light_where_it_is_high() -> None:
    image = np.zeros((40, 60, 3), np.uint8)
    heat = np.zeros((3, 40, 60))
    heat[1, 10, 50] = 1
    panel = heatmap_panel(image, heat)
    assert panel.shape == image.shape
    assert np.unravel_index(panel.sum(-1).argmax(), (40, 60)) == (10, 50)
