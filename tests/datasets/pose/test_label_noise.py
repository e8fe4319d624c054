"""The noise has the causes that the image shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hetpose.datasets.pose.figure import LIMBS, NECK, Occluder, render, sample_scene
from hetpose.datasets.pose.label_noise import limb_directions, local_blur, noise_causes, occlusion

WRIST, ELBOW = 6, 7
PLAIN = replace(sample_scene(np.random.default_rng(3), 96), occluders=(), blurs=(), defocus=0.0)


def sigma(scene) -> np.ndarray:
    causes = noise_causes(scene)
    return causes @ causes.T


def block(scene, joint: int) -> np.ndarray:
    return sigma(scene)[2 * joint : 2 * joint + 2, 2 * joint : 2 * joint + 2]


def covered(joint: int = WRIST, opacity: float = 0.9, is_round: bool = True):
    axes = np.array([0.08, 0.08]) * PLAIN.height
    return replace(
        PLAIN, occluders=(Occluder(PLAIN.joints[joint], axes, 30.0, opacity, is_round),)
    )


def blurred(joint: int = WRIST):
    return replace(PLAIN, blurs=((PLAIN.joints[joint], 0.2 * PLAIN.height, 1.0),))


def pixels(scene) -> np.ndarray:
    return render(scene, np.random.default_rng(0)).astype(float)


@pytest.mark.parametrize('scene', [covered(), covered(is_round=False), blurred()])
def test_a_local_cause_is_seen_and_raises_the_variance_where_it_is(scene) -> None:
    assert np.trace(block(scene, WRIST)) > 4 * np.trace(block(PLAIN, WRIST))
    assert np.trace(block(scene, 0)) < 1.05 * np.trace(block(PLAIN, 0))
    x, y = PLAIN.joints[WRIST].round().astype(int)
    change = np.abs(pixels(scene) - pixels(PLAIN)).sum(-1)
    near = change[max(y - 4, 0) : y + 5, max(x - 4, 0) : x + 5].mean()
    assert near > 15
    ankle_x, ankle_y = PLAIN.joints[0].round().astype(int)
    assert change[ankle_y - 2 : ankle_y + 3, ankle_x - 2 : ankle_x + 3].max() == 0


def test_opacity_orders_the_variance() -> None:
    traces = [np.trace(block(covered(opacity=opacity), WRIST)) for opacity in (0.3, 0.6, 0.9)]
    assert traces == sorted(traces)


def test_an_occluded_joint_errs_along_its_limb() -> None:
    _, own = limb_directions(PLAIN.joints)
    values, vectors = np.linalg.eigh(block(covered(), WRIST))
    assert values[1] > 2 * values[0]
    assert abs(vectors[:, 1] @ own[WRIST]) > 0.99
    assert np.ptp(np.linalg.eigvalsh(block(PLAIN, WRIST))) < np.ptp(values)


def test_parent_and_child_are_correlated_along_the_limb() -> None:
    column = LIMBS.index((ELBOW, WRIST))
    limbs, _ = limb_directions(PLAIN.joints)
    along = limbs[column]

    def correlation(scene) -> float:
        cross = sigma(scene)[2 * ELBOW : 2 * ELBOW + 2, 2 * WRIST : 2 * WRIST + 2]
        return (
            along
            @ cross
            @ along
            / np.sqrt(along @ block(scene, ELBOW) @ along * (along @ block(scene, WRIST) @ along))
        )

    assert correlation(covered()) > 0.2
    far = sigma(covered())[0:2, 2 * WRIST : 2 * WRIST + 2]  # an ankle: the shared shift only
    assert np.abs(far).max() < 0.05 * np.abs(block(covered(), WRIST)).max()


def test_defocus_shifts_the_whole_figure() -> None:
    soft = replace(PLAIN, defocus=1.0)
    extra = sigma(soft) - sigma(PLAIN)
    np.testing.assert_allclose(extra, np.tile(extra[:2, :2], (14, 14)), atol=1e-9)
    assert extra[0, 0] > 0
    assert np.abs(pixels(soft) - pixels(PLAIN)).mean() > 0.5


def test_causes_are_bounded_and_zero_without_a_reason() -> None:
    assert not occlusion(PLAIN).any()
    assert not local_blur(PLAIN).any()
    for seed in range(20):
        scene = sample_scene(np.random.default_rng(seed), 96)
        assert ((occlusion(scene) >= 0) & (occlusion(scene) <= 1)).all()
        assert ((local_blur(scene) >= 0) & (local_blur(scene) <= 1)).all()
        assert np.linalg.eigvalsh(sigma(scene)).min() > 0


def test_every_joint_but_the_neck_ends_one_limb() -> None:
    children = [child for _, child in LIMBS]
    assert sorted([*children, NECK]) == list(range(14))
