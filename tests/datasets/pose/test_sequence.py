"""A sequence is reproducible, moves smoothly, and its labels have the stated covariance."""

import numpy as np
import pytest

from hetpose.datasets.pose.figure import LIMBS
from hetpose.datasets.pose.sequence import SyntheticPoseSequence


def test_seed_and_index_fix_everything() -> None:
    one, two = (SyntheticPoseSequence(frames=10, seed=3, index=1) for _ in range(2))
    np.testing.assert_array_equal(one.labels(), two.labels())
    np.testing.assert_array_equal(one.image(4), two.image(4))
    other = SyntheticPoseSequence(frames=10, seed=3, index=2)
    assert not np.allclose(one.joints, other.joints)


def test_joints_move_smoothly_and_stay_in_the_image() -> None:
    film = SyntheticPoseSequence(frames=200, fps=50)
    assert film.joints.min() >= 0
    assert film.joints.max() <= film.image_size - 1
    steps = np.linalg.norm(np.diff(film.joints, axis=0), axis=-1)
    assert 0 < steps.max() < 0.1 * film.height
    parents, children = np.array(LIMBS).T
    bones = np.linalg.norm(film.joints[:, children] - film.joints[:, parents], axis=-1)
    assert (bones.max(0) / bones.min(0)).max() < 1.2


def test_frames_show_one_place_and_a_moving_figure() -> None:
    film = SyntheticPoseSequence(frames=40)
    difference = np.abs(film.image(0).astype(int) - film.image(39)).max(-1)
    assert 0.02 < (difference > 40).mean() < 0.6
    assert film.occlusions().shape == (40, 14)


@pytest.mark.parametrize('persistence', [0.0, 0.9])
def test_labels_have_the_stated_covariance(persistence: float) -> None:
    """rᵀΣ⁻¹r has mean 2K in every frame, and neighbours are correlated as asked."""
    white = []
    for index in range(60):
        film = SyntheticPoseSequence(frames=12, index=index, persistence=persistence)
        error = (film.labels() - film.joints).reshape(12, -1)
        factor = np.linalg.cholesky(film.covariances())
        white.append(np.linalg.solve(factor, error[..., None])[..., 0])
    white = np.stack(white)  # (sequence, frame, 2K)
    assert white.shape == (60, 12, 28)
    np.testing.assert_allclose((white**2).mean(), 1, atol=0.06)
    neighbours = (white[:, 1:] * white[:, :-1]).mean()
    # The causes of the noise persist; their mixture changes a little from frame to frame.
    np.testing.assert_allclose(neighbours, persistence, atol=0.06)


def test_bad_settings_are_named() -> None:
    for settings in (dict(frames=0), dict(fps=0), dict(image_size=8), dict(persistence=1.0)):
        with pytest.raises(ValueError, match='SyntheticPoseSequence|persistence'):
            SyntheticPoseSequence(**settings)
