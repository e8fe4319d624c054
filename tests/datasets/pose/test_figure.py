"""Figures: anatomy, and drawings that show the joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hetpose.datasets.pose.figure import (
    HEAD,
    L_ANKLE,
    L_ELBOW,
    L_WRIST,
    NECK,
    R_ELBOW,
    R_WRIST,
    render,
    sample_pose,
    sample_scene,
    soft_disc,
)


def test_limbs_keep_their_length() -> None:
    for seed in range(20):
        joints = sample_pose(np.random.default_rng(seed))
        forearms = [np.linalg.norm(joints[a] - joints[b]) for a, b in ((7, 6), (10, 11))]
        np.testing.assert_allclose(forearms, 0.155)
        assert joints[HEAD, 1] < joints[NECK, 1] < joints[L_ANKLE, 1]


def test_right_limbs_are_warm_and_left_limbs_cool() -> None:
    for seed in range(10):
        scene = sample_scene(np.random.default_rng(seed), 128)
        scene = replace(scene, occluders=(), blurs=(), defocus=0.0)
        image = render(scene, np.random.default_rng(seed)).astype(int)
        for elbow, wrist, warm in ((R_ELBOW, R_WRIST, True), (L_ELBOW, L_WRIST, False)):
            x, y = ((scene.joints[elbow] + scene.joints[wrist]) / 2).round().astype(int)
            blue, _, red = image[y - 1 : y + 2, x - 1 : x + 2].mean((0, 1))
            assert (red > blue) == warm


def test_soft_disc() -> None:
    points = np.array([[0.0, 0.0], [0.4, 0.0], [0.75, 0.0], [1.0, 0.0], [2.0, 0.0]])
    values = soft_disc(points, np.zeros(2), 1.0)
    np.testing.assert_allclose(values, [1, 1, 0.5, 0, 0])


def test_every_size_renders() -> None:
    for size in (32, 100, 256):
        image = render(sample_scene(np.random.default_rng(0), size), np.random.default_rng(1))
        assert image.shape == (size, size, 3)
        assert image.dtype == np.uint8
        assert image.std() > 10
