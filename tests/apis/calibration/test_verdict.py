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


def test_no_image_is_in_both_parts() -> None:
    groups = torch.arange(300).repeat_interleave(10)
    fit, rest = split_samples(predictions(NORMAL, groups), 0.5, seed=0)
    assert len(fit) == len(rest) == 1500
    assert not set(fit.groups.tolist()) & set(rest.groups.tolist())
    assert 'a random 50% of the images' in calibrate(predictions(NORMAL, groups)).markdown()
