"""Scores of the forms of Σ."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hetpose.apis.fit.forms import constant
from hetpose.apis.fit.report import FormScore, in_pixels
from hetpose.apis.fit.training import constant_covariance, scaled
from hetpose.ops.gaussian import negative_log_likelihood
from hetpose.ops.student import sample


def test_pixels_and_per_cent_mean_the_same_distances(errors):
    one = constant_covariance(errors)
    residual, mask = scaled(errors)
    pixels = in_pixels(errors, constant(one, errors))
    unit = negative_log_likelihood(residual, one.expand(len(errors), -1, -1), mask)
    image = negative_log_likelihood(pixels.residual, pixels.covariance, pixels.mask)
    shift = torch.as_tensor(np.log(errors.side / 100) * mask.sum(-1).numpy())
    torch.testing.assert_close(image, unit + shift)


def test_a_covariance_twice_too_large_covers_too_much(errors):
    one = constant_covariance(errors)
    held = constant(one, errors)
    right, large = (FormScore.of(constant(gain * one, errors), held) for gain in (1, 4))
    assert large.coverage_90 > right.coverage_90
    assert large.nll > right.nll
    assert large.ence > right.ence


def test_ellipses_of_a_student_are_those_of_its_tails(errors):
    """Errors drawn from the Student-t that is judged: as many inside as the level names."""
    count, joints = errors.mask.shape
    nu = torch.full((count,), 3.0, dtype=torch.float64)
    covariance = torch.eye(2 * joints, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.cat(
        [
            sample(torch.zeros(2 * joints).double(), covariance / 3, 3.0, 1, generator)
            for _ in range(count)
        ]
    )
    residual = drawn.unflatten(-1, (joints, 2)).numpy() * errors.side[:, None, None] / 100
    heavy = replace(errors, residual=residual, mask=np.ones_like(errors.mask))
    gaussian = constant(covariance, heavy)
    student = replace(gaussian, degrees_of_freedom=nu)
    right, wrong = FormScore.of(student, student), FormScore.of(gaussian, gaussian)
    assert abs(right.coverage_90 - 0.9) < 0.015
    assert wrong.coverage_90 > right.coverage_90 + 0.01
    assert right.nll < wrong.nll - 0.5
    assert right.alpha == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize('nu', [None, 3.0])
def test_recalibrated_ellipses_hold_what_they_name_whatever_the_scale(errors, nu):
    """Other people of the same kind, whose covariances are four times too large alike."""
    tails = None if nu is None else torch.full((len(errors),), nu, dtype=torch.float64)
    wide = replace(constant(4 * constant_covariance(errors), errors), degrees_of_freedom=tails)
    even, odd = wide.select(slice(0, None, 2)), wide.select(slice(1, None, 2))
    score = FormScore.of(even, odd)
    assert score.coverage_90 > 0.95
    assert abs(score.recalibrated_90 - 0.9) < 0.02
    assert score.alpha < 0.5
