"""Conditioning does what samples do."""

import numpy as np
import pytest

from hetpose.apis.inference.conditioning import (
    condition_pose,
    condition_prediction,
    parse_given,
    scores_from,
)
from hetpose.errors import UserError
from hetpose.ops.spd import joint_blocks

NAMES = ['left_wrist', 'right_wrist', 'neck']
MEAN = np.array([[10.0, 20.0], [30.0, 25.0], [20.0, 5.0]])


@pytest.fixture
def covariance() -> np.ndarray:
    factor = np.random.default_rng(0).normal(size=(6, 6))
    return factor @ factor.T


def test_a_correlated_joint_moves_as_samples_say(covariance: np.ndarray) -> None:
    """Regress the rest of many samples on the given joint: the fit is the conditional mean."""
    samples = np.random.default_rng(1).multivariate_normal(MEAN.reshape(-1), covariance, 200_000)
    design = np.column_stack([np.ones(len(samples)), samples[:, :2]])
    slope, *_ = np.linalg.lstsq(design, samples[:, 2:], rcond=None)
    residual = samples[:, 2:] - design @ slope
    keypoints, conditional, _ = condition_pose(MEAN, covariance, {'left_wrist': (12, 17)}, NAMES)
    np.testing.assert_allclose(keypoints[1:].reshape(-1), [1, 12, 17] @ slope, atol=0.05)
    np.testing.assert_allclose(conditional[2:, 2:], np.cov(residual.T), atol=0.05)


def test_the_given_joint_stays_and_is_certain(covariance: np.ndarray) -> None:
    keypoints, conditional, _ = condition_pose(MEAN, covariance, {'right_wrist': (1, 2)}, NAMES)
    np.testing.assert_array_equal(keypoints[1], [1, 2])
    assert not conditional[2:4].any()
    assert not conditional[:, 2:4].any()


def test_given_all_joints_returns_them(covariance: np.ndarray) -> None:
    given = {'neck': (1, 2), 'left_wrist': (3, 4), 'right_wrist': (5, 6)}
    keypoints, conditional, _ = condition_pose(MEAN, covariance, given, NAMES)
    np.testing.assert_array_equal(keypoints, [[3, 4], [5, 6], [1, 2]])
    assert not conditional.any()


def test_given_the_mean_only_the_covariance_shrinks(covariance: np.ndarray) -> None:
    keypoints, conditional, _ = condition_pose(MEAN, covariance, {'neck': MEAN[2]}, NAMES)
    np.testing.assert_allclose(keypoints, MEAN)
    assert np.linalg.eigvalsh(covariance - conditional).min() > -1e-9


def test_one_by_one_or_together_is_the_same(covariance: np.ndarray) -> None:
    both = condition_pose(MEAN, covariance, {'neck': (1, 2), 'left_wrist': (3, 4)}, NAMES)
    rest = covariance[:4, :4], covariance[:4, 4:], covariance[4:, 4:]
    gain = rest[1] @ np.linalg.inv(rest[2])
    mean = MEAN[:2].reshape(-1) + gain @ (np.array([1, 2]) - MEAN[2])
    step = mean.reshape(2, 2), rest[0] - gain @ rest[1].T
    again = condition_pose(*step, {'left_wrist': (3, 4)}, NAMES[:2])
    np.testing.assert_allclose(both[0][1], again[0][1])
    np.testing.assert_allclose(both[1][2:4, 2:4], again[1][2:, 2:])


def test_independent_joints_do_not_move() -> None:
    keypoints, conditional, _ = condition_pose(MEAN, np.eye(6), {'neck': (50, 50)}, NAMES)
    np.testing.assert_array_equal(keypoints[:2], MEAN[:2])
    np.testing.assert_array_equal(conditional[:4, :4], np.eye(4))


def test_the_arguments_are_left_alone(covariance: np.ndarray) -> None:
    before = MEAN.copy(), covariance.copy()
    condition_pose(MEAN, covariance, {'neck': (50, 50)}, NAMES)
    np.testing.assert_array_equal(MEAN, before[0])
    np.testing.assert_array_equal(covariance, before[1])


def test_a_prediction_file_conditions_as_arrays_do(covariance: np.ndarray) -> None:
    person = {
        'keypoints': MEAN.tolist(),
        'keypoint_scores': [0.1, 0.1, 0.1],
        'covariance': joint_blocks(covariance).tolist(),
        'full_covariance': covariance.tolist(),
        'bbox': [[0.0, 0.0, 40.0, 30.0]],
        'bbox_score': 1.0,
    }
    keypoints, conditional, _ = condition_pose(MEAN, covariance, {'neck': (20, 8)}, NAMES)
    changed = condition_prediction(person, {'neck': (20, 8)}, NAMES)
    np.testing.assert_allclose(changed['keypoints'], keypoints)
    np.testing.assert_allclose(changed['full_covariance'], conditional)
    np.testing.assert_allclose(changed['covariance'], joint_blocks(conditional))
    assert changed['keypoint_scores'][2] == pytest.approx(1)
    assert person['keypoint_scores'] == [0.1, 0.1, 0.1]
    del person['full_covariance']
    with pytest.raises(UserError, match='full_covariance'):
        condition_prediction(person, {'neck': (20, 8)}, NAMES)


def test_scores_are_the_share_of_samples_in_the_disc(covariance: np.ndarray) -> None:
    samples = np.random.default_rng(0).multivariate_normal(np.zeros(6), covariance, 100_000)
    inside = np.linalg.norm(samples.reshape(-1, 3, 2), axis=-1) < 0.05 * 40
    scores = scores_from(covariance, np.array([0, 0, 40, 30]), 0.05)
    np.testing.assert_allclose(scores, inside.mean(0), atol=0.01)


def test_reading_the_command_line() -> None:
    assert parse_given('left_wrist=1,2.5; neck = 3,-4 ;') == {
        'left_wrist': (1, 2.5),
        'neck': (3, -4),
    }


@pytest.mark.parametrize('text', ['', 'neck', 'neck=1', 'neck=1,2,3', 'neck=a,b', 'a=1,2;a=3,4'])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UserError, match='joint'):
        parse_given(text)


def test_an_unknown_joint_lists_the_known() -> None:
    with pytest.raises(UserError, match='lft_wrist.*left_wrist, neck, right_wrist'):
        condition_pose(MEAN, np.eye(6), {'lft_wrist': (1, 2)}, NAMES)


def test_a_place_must_be_two_finite_numbers() -> None:
    with pytest.raises(UserError, match='two finite numbers'):
        condition_pose(MEAN, np.eye(6), {'neck': (1, float('nan'))}, NAMES)


def test_shapes_must_belong_to_the_names() -> None:
    with pytest.raises(ValueError, match='3 joints'):
        condition_pose(MEAN[:2], np.eye(6), {'neck': (1, 2)}, NAMES)


def test_a_student_is_conditioned_by_its_own_rule(covariance: np.ndarray) -> None:
    """The mean is the Gaussian's; the improbable widens the covariance; ν grows by 2 a joint."""
    near, far = ({'neck': tuple(MEAN[2] + step)} for step in (0.0, 60.0))
    gaussian = condition_pose(MEAN, covariance, far, NAMES)
    for given, wider in ((near, False), (far, True)):
        found = condition_pose(MEAN, covariance, given, NAMES, 4.0)
        assert found.degrees_of_freedom == 6.0
        plain = condition_pose(MEAN, covariance, given, NAMES)
        np.testing.assert_allclose(found.keypoints, plain.keypoints)
        ratio = found.covariance[:4, :4] / plain.covariance[:4, :4]
        np.testing.assert_allclose(ratio, ratio[0, 0])
        assert (ratio[0, 0] > 1) == wider
    assert gaussian.degrees_of_freedom is None
    endless = condition_pose(MEAN, covariance, far, NAMES, np.inf)
    np.testing.assert_allclose(endless.covariance, gaussian.covariance)


def test_a_student_of_a_prediction_file_keeps_its_degrees_of_freedom(
    covariance: np.ndarray,
) -> None:
    person = {
        'keypoints': MEAN.tolist(),
        'keypoint_scores': [0.5] * 3,
        'covariance': [],
        'full_covariance': covariance.tolist(),
        'degrees_of_freedom': 3.0,
        'bbox': [[0, 0, 40, 30]],
        'bbox_score': 1.0,
    }
    changed = condition_prediction(person, {'neck': (20, 8)}, NAMES)
    assert changed['degrees_of_freedom'] == 5.0
    expected = scores_from(
        np.array(changed['full_covariance']), np.array([0, 0, 40, 30]), 0.05, 5.0
    )
    np.testing.assert_allclose(changed['keypoint_scores'], expected, equal_nan=False)
    assert changed['keypoint_scores'][2] == 1


@pytest.mark.parametrize('nu', [None, 2.1, 4.0, np.inf])
@pytest.mark.parametrize('side', [1.0, 40.0, 4000.0])
def test_a_given_joint_is_certain(covariance: np.ndarray, nu: float | None, side: float) -> None:
    person = {
        'keypoints': MEAN.tolist(),
        'keypoint_scores': [0.5] * 3,
        'full_covariance': covariance.tolist(),
        'bbox': [[0, 0, side, side]],
        **({} if nu is None else {'degrees_of_freedom': nu}),
    }
    for given in ({'neck': (20, 8)}, dict(zip(NAMES, MEAN.tolist(), strict=True))):
        scores = condition_prediction(person, given, NAMES)['keypoint_scores']
        for name, score in zip(NAMES, scores, strict=True):
            assert score == 1 if name in given else 0 < score <= 1
            assert name in given or side > 40 or score < 1


def test_the_scores_of_a_wrapped_head_stay(covariance: np.ndarray) -> None:
    person = {
        'keypoints': MEAN.tolist(),
        'keypoint_scores': [0.9, 0.8, 0.7],
        'keypoint_probabilities': [0.1, 0.2, 0.3],
        'full_covariance': covariance.tolist(),
        'bbox': [[0, 0, 40, 30]],
    }
    changed = condition_prediction(person, {'neck': (20, 8)}, NAMES)
    assert changed['keypoint_scores'] == [0.9, 0.8, 0.7]
    assert changed['keypoint_probabilities'][2] == 1
    assert changed['keypoint_probabilities'][:2] != [0.1, 0.2]


def test_robust_wants_all_corrections_at_once(covariance: np.ndarray) -> None:
    """The plain rule takes them in any order; the gate decides anew at every step."""
    far = {'neck': tuple(MEAN[2] + 30.0), 'left_wrist': tuple(MEAN[0] - 20.0)}
    first, second = ({name: place} for name, place in far.items())
    step = condition_pose(MEAN, covariance, first, NAMES)
    chained = condition_pose(step.keypoints, step.covariance, second, NAMES)
    together = condition_pose(MEAN, covariance, far, NAMES)
    np.testing.assert_allclose(chained.keypoints, together.keypoints)
    np.testing.assert_allclose(chained.covariance, together.covariance, atol=1e-9)


@pytest.mark.parametrize('nu', [None, 4.0])
def test_robust_leaves_a_joint_that_may_be_right_and_moves_one_that_cannot(nu) -> None:
    """A short way is hardly gone; a long one against a small covariance is gone whole."""
    loose = np.eye(6)
    loose[:2, 4:] = loose[4:, :2] = 0.3 * np.eye(2)  # the neck tells little about the left wrist
    tight = np.eye(6)
    tight[:2, 4:] = tight[4:, :2] = 0.999 * np.eye(2)
    given = {'neck': tuple(MEAN[2] + 4.0)}
    for covariance, least, most in ((loose, 0.1, 0.6), (tight, 0.95, 1 + 1e-9)):
        plain = condition_pose(MEAN, covariance, given, NAMES, nu)
        robust = condition_pose(MEAN, covariance, given, NAMES, nu, robust=True)
        way = np.linalg.norm(plain.keypoints[0] - MEAN[0])
        share = np.linalg.norm(robust.keypoints[0] - MEAN[0]) / way
        assert least < share < most
        np.testing.assert_array_equal(robust.keypoints[2], given['neck'])
        np.testing.assert_allclose(robust.keypoints[1], MEAN[1])
        assert robust.degrees_of_freedom == plain.degrees_of_freedom


def test_what_the_gate_leaves_open_is_in_the_covariance() -> None:
    covariance = np.eye(6)
    covariance[:2, 4:] = covariance[4:, :2] = 0.6 * np.eye(2)
    given = {'neck': tuple(MEAN[2] + 2.0)}
    plain = condition_pose(MEAN, covariance, given, NAMES)
    robust = condition_pose(MEAN, covariance, given, NAMES, robust=True)
    way = plain.keypoints[0] - MEAN[0]
    share = np.linalg.norm(robust.keypoints[0] - MEAN[0]) / np.linalg.norm(way)
    added = robust.covariance - plain.covariance
    np.testing.assert_allclose(added[:2, :2], share * (1 - share) * np.outer(way, way))
    added[:2, :2] = 0
    np.testing.assert_allclose(added, 0, atol=1e-12)
    assert not robust.covariance[4:].any()


def test_robust_with_every_joint_given_and_with_none(covariance: np.ndarray) -> None:
    everything = {name: (float(k), 0.0) for k, name in enumerate(NAMES)}
    found = condition_pose(MEAN, covariance, everything, NAMES, robust=True)
    assert not found.covariance.any()
    none = condition_pose(MEAN, covariance, {}, NAMES, robust=True)
    np.testing.assert_allclose(none.keypoints, MEAN)
    once = condition_pose(MEAN, covariance, {'neck': (5.0, 5.0)}, NAMES, robust=True)
    again = condition_pose(
        once.keypoints, once.covariance, {'head': (1.0, 1.0)}, [*NAMES[:2], 'head'], robust=True
    )
    assert np.isfinite(again.keypoints).all()
