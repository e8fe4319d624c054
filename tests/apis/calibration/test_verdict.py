"""The verdict judges the whole: a right scale on average is not enough."""

import re

import numpy as np
import pytest
import torch

from hetpose.apis.calibration.arrays import distribution_of
from hetpose.apis.calibration.calibrate import calibrate
from hetpose.apis.calibration.predictions import Predictions, split_samples
from hetpose.apis.calibration.report import calibration
from hetpose.apis.calibration.verdict import verdict
from hetpose.errors import UserError

RNG = np.random.default_rng(0)
COUNT, DIM = 3000, 8
NORMAL = RNG.normal(size=(COUNT, DIM))
COVARIANCE = np.tile(np.eye(DIM), (COUNT, 1, 1))


def judged(target: np.ndarray, cov: np.ndarray = COVARIANCE) -> str:
    result = calibration(np.zeros_like(target), cov, target, block=2)
    return verdict(result.overall, result.parts)


def gross_errors() -> np.ndarray:
    """Errors of scale 1 on average: one person in ten is three times worse than the others."""
    scale = np.where(RNG.random((COUNT, 1)) < 0.1, 3.0, 1.0)
    return NORMAL * scale / np.sqrt((scale**2).mean())


def test_right_covariances() -> None:
    assert judged(NORMAL).startswith('Calibrated')


@pytest.mark.parametrize(('factor', 'word'), [(2.0, 'Over'), (0.5, 'Under')])
def test_a_wrong_scale(factor: float, word: str) -> None:
    assert judged(NORMAL * factor).startswith(f'{word}-confident')


def test_a_right_scale_with_gross_errors_is_not_called_right() -> None:
    target = gross_errors()
    text = judged(target)
    assert (target**2).mean() == pytest.approx(1, rel=0.05)
    assert text.startswith('Not calibrated')
    assert 'PIT is not uniform (p < 1e-06)' in text
    assert 'few are gross' in text


def test_tails_that_are_too_heavy_for_a_student_are_not_sent_to_one() -> None:
    """Every joint of a person has a gross error of its own; a Student-t has one tail for all."""
    gross = np.repeat(RNG.random((COUNT, DIM // 2)) < 0.025, 2, axis=1)
    target = NORMAL * np.where(gross, 12.0, 0.5)
    nu = np.full(COUNT, 4.0)
    result = calibration(0 * target, COVARIANCE, target, block=2, degrees_of_freedom=nu)
    text = result.verdict()
    assert 'more than even these tails have' in text
    assert 'times' not in text  # of heavy tails a mean of squares has no useful standard error


def test_the_joint_that_is_wrong_is_named() -> None:
    target = NORMAL.copy()
    target[:, 2:4] *= 2
    result = calibration(0 * target, COVARIANCE, target, block=2, names=['a', 'b', 'c', 'd'])
    named = re.search(r'Furthest off: b \(([\d.]+) times\)', result.verdict())
    assert named is not None
    assert float(named[1]) == pytest.approx(4, rel=0.1)


def predictions(target: np.ndarray, groups: torch.Tensor | None = None) -> Predictions:
    data = distribution_of(np.zeros_like(target), COVARIANCE[: len(target)], target, block=2)
    return Predictions(data, tuple('abcd'), groups=groups)


def test_a_recalibration_that_is_worse_on_others_is_not_used() -> None:
    report = calibrate(predictions(NORMAL), predictions(2 * NORMAL[:500]))
    assert report.recalibration.alpha == (1.0,)
    assert report.recalibration.beta == (0.0,)
    assert report.refused is not None
    assert 'raises their NLL' in report.markdown()
    assert report.after.overall.nll == pytest.approx(report.before.overall.nll)
    better = calibrate(predictions(2 * NORMAL), predictions(2 * NORMAL[:500]))
    assert better.refused is None
    assert better.recalibration.alpha[0] + better.recalibration.beta[0] == pytest.approx(
        4, rel=0.1
    )


def test_a_recalibration_that_spoils_the_ellipses_is_not_used_whatever_the_nll() -> None:
    """Errors of a few huge ones: the likelihood asks for a covariance that covers too much."""
    gross = NORMAL * np.where(np.arange(len(NORMAL)) % 20 == 0, 6.0, 1.0)[:, None]
    report = calibrate(predictions(gross), predictions(gross[:1000]))
    assert report.refused is not None
    assert 'raises the error of the 90% ellipses' in report.refused
    assert report.recalibration.alpha == (1.0,)


@pytest.mark.parametrize('nu', [None, 4.0])
def test_by_ellipses_those_of_the_joints_hold_what_they_name_whatever_the_tails(nu) -> None:
    """Few gross errors: no likelihood of a person finds the scale of the joints' ellipses."""
    gross = NORMAL * np.where(RNG.random((COUNT, 1)) < 0.05, 6.0, 1.0) * 1.5
    tails = None if nu is None else torch.full((COUNT,), nu, dtype=torch.float64)
    data = distribution_of(0 * gross, COVARIANCE, gross, block=2, degrees_of_freedom=tails)
    judged, fit = (
        Predictions(data.select(slice(start, None, 2)), tuple('abcd')) for start in (0, 1)
    )
    report = calibrate(judged, fit, level=0.9)
    before, after = (
        np.mean([scores.covered(0.9) for scores in result.parts.values()])
        for result in (report.before, report.after)
    )
    assert before < 0.85
    assert after == pytest.approx(0.9, abs=0.025)
    assert report.refused is None
    assert report.recalibration.beta == (0.0,)
    assert 'the ellipses of 90% of the single parts hold 90%' in report.markdown()


def test_a_level_of_the_ellipses_is_a_probability_for_all_joints() -> None:
    with pytest.raises(UserError, match='between 0 and 1'):
        calibrate(predictions(NORMAL), level=1.5)
    with pytest.raises(UserError, match='one alpha for all'):
        calibrate(predictions(NORMAL), level=0.9, per_joint=True)


def test_no_image_is_in_both_parts() -> None:
    groups = torch.arange(300).repeat_interleave(10)
    fit, rest = split_samples(predictions(NORMAL, groups), 0.5, seed=0)
    assert len(fit) == len(rest) == 1500
    assert not set(fit.groups.tolist()) & set(rest.groups.tolist())
    assert 'a random 50% of the images' in calibrate(predictions(NORMAL, groups)).markdown()
