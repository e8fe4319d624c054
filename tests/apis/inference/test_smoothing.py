"""Tracks are filters over time; a crowd keeps people apart."""

import numpy as np
import pytest
import torch
from helpers import random_covariance

from hetpose.apis.inference.smoothing import Crowd, MotionSettings, Person, Track, similarity
from hetpose.ops.kalman import limb_correlation

LINKS = [(0, 1), (1, 2)]


def person(joints: np.ndarray, covariance: np.ndarray | None = None, size: float = 100) -> Person:
    dim = joints.size
    return Person(joints, np.eye(dim) if covariance is None else covariance, size)


def track(**settings) -> Track:
    return Track(MotionSettings(**settings), limb_correlation(3, LINKS, 1.0))


def film(count: int = 12) -> list[tuple[float, np.ndarray, np.ndarray]]:
    torch.manual_seed(0)
    noises = 4 * random_covariance(count, dim=6).numpy()
    rng = np.random.default_rng(0)
    line = np.arange(count)[:, None, None] * np.array([4.0, -2.0]) + rng.normal(0, 30, (3, 2))
    return [(0.04 * t, line[t] + rng.normal(0, 2, (3, 2)), noises[t]) for t in range(count)]


def test_memory_that_fades_at_once_is_no_memory() -> None:
    """Errors that persist for a microsecond are independent errors."""
    found = []
    for settings in (dict(persistence=0.0), dict(persistence=1e-6)):
        one = track(**settings)
        for time, joints, noise in film():
            one.add(time, person(joints, noise))
        found.append((one.smoothed(), one.log_likelihood))
    (plain, likelihood), (fading, same) = found
    assert same == pytest.approx(likelihood, abs=1e-6)
    for (joints, covariance), (other, spread) in zip(plain, fading, strict=True):
        np.testing.assert_allclose(joints, other, atol=1e-6)
        np.testing.assert_allclose(covariance, spread, atol=1e-6)


def test_errors_that_persist_do_not_average_out() -> None:
    spreads = []
    for persistence in (0.0, 0.1, 1.0):
        one = track(persistence=persistence)
        for time, joints, _ in film():
            one.add(time, person(joints))
        spreads.append(np.mean([np.trace(c) for _, c in one.smoothed()]))
    assert spreads[0] < spreads[1] < spreads[2] < 6  # the trace of what is measured


def test_a_missing_joint_is_one_without_information() -> None:
    """NaN has the same result as a measurement with an enormous variance of its own."""
    missing, vague = track(persistence=0.0), track(persistence=0.0)
    for t, (time, joints, noise) in enumerate(film()):
        hidden, spread = joints.copy(), noise.copy()
        if t % 3 == 1:
            hidden[1] = np.nan
            spread[2:4] = 0
            spread[:, 2:4] = 0
            spread[2:4, 2:4] = 1e12 * np.eye(2)
        # A missing joint's rows of the covariance do not matter; here they keep it independent.
        missing.add(time, person(hidden, spread))
        vague.add(time, person(np.nan_to_num(hidden, nan=50.0), spread))
    for (joints, covariance), (other, wide) in zip(
        missing.smoothed(), vague.smoothed(), strict=True
    ):
        np.testing.assert_allclose(joints, other, atol=1e-3)
        np.testing.assert_allclose(covariance, wide, rtol=1e-3, atol=1e-3)


def test_a_missing_frame_is_no_frame() -> None:
    """With errors that persist, too: nothing present leaves the state to its motion."""
    skipped, empty = track(), track()
    for t, (time, joints, noise) in enumerate(film()):
        if t % 4 != 2:
            skipped.add(time, person(joints, noise))
        nothing = np.full_like(joints, np.nan)
        empty.add(time, person(nothing if t % 4 == 2 else joints, noise))
    expected = skipped.smoothed()
    found = [state for t, state in enumerate(empty.smoothed()) if t % 4 != 2]
    assert skipped.log_likelihood == pytest.approx(empty.log_likelihood)
    for (joints, covariance), (other, spread) in zip(expected, found, strict=True):
        np.testing.assert_allclose(joints, other, atol=1e-6)
        np.testing.assert_allclose(covariance, spread, atol=1e-6)


def test_the_last_frame_is_the_same_forward_and_backward() -> None:
    one = track()
    for time, joints, noise in film():
        one.add(time, person(joints, noise))
    np.testing.assert_array_equal(one.filtered()[0], one.smoothed()[-1][0])
    one.forget()
    assert len(one.smoothed()) == 1


def test_units_do_not_matter() -> None:
    """A film of twice the size is smoothed alike."""
    small, large = track(), track()
    for time, joints, noise in film():
        small.add(time, person(joints, noise, 100))
        large.add(time, person(2 * joints, 4 * noise, 200))
    for (joints, covariance), (other, spread) in zip(
        small.smoothed(), large.smoothed(), strict=True
    ):
        np.testing.assert_allclose(2 * joints, other, atol=1e-6)
        np.testing.assert_allclose(4 * covariance, spread, rtol=1e-6)


def crowd() -> Crowd:
    return Crowd(3, LINKS, MotionSettings(gap=0.2))


def test_people_who_cross_keep_their_numbers() -> None:
    body = np.array([[0.0, 0], [0, 30], [0, 60]])
    many = crowd()
    for t in range(20):
        left = person(body + [10.0 * t, 0])
        right = person(body + [200 - 10.0 * t, 0])
        numbers = many.add(0.04 * t, [left, right] if t % 2 else [right, left])
        assert numbers == ([1, 0] if t % 2 else [0, 1])
    assert len(many.tracks) == 2


def test_somebody_new_and_somebody_who_left() -> None:
    body = np.array([[0.0, 0], [0, 30], [0, 60]])
    many = crowd()
    assert many.add(0.0, [person(body)]) == [0]
    assert many.add(0.04, []) == []
    assert many.add(0.08, [person(body), person(body + 500)]) == [0, 1]
    assert many.add(1.0, [person(body)]) == [2]  # after the gap
    many.forget()
    assert list(many.tracks) == [2]


def test_similarity_is_one_in_place_and_zero_far_away() -> None:
    body = np.array([[0.0, 0], [0, 30], [0, 60]])
    assert similarity(person(body), body) == 1
    assert similarity(person(body), body + 1000) == pytest.approx(0)
    half = body.copy()
    half[0] = np.nan
    assert similarity(person(half), body) == 1


@pytest.mark.parametrize('name', ['acceleration', 'speed', 'gap', 'persistence'])
def test_bad_settings_are_named(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        MotionSettings(**{name: -1.0})
