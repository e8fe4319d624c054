"""Scores of the forms of Σ."""

import numpy as np
import torch

from hetpose.apis.fit.report import FormScore, in_pixels
from hetpose.apis.fit.training import constant_covariance, scaled
from hetpose.ops.gaussian import negative_log_likelihood


def test_pixels_and_per_cent_mean_the_same_distances(errors):
    constant = constant_covariance(errors)
    residual, mask = scaled(errors)
    pixels = in_pixels(errors, constant.expand(len(errors), -1, -1))
    unit = negative_log_likelihood(residual, constant.expand(len(errors), -1, -1), mask)
    image = negative_log_likelihood(pixels.residual, pixels.covariance, pixels.mask)
    shift = torch.as_tensor(np.log(errors.side / 100) * mask.sum(-1).numpy())
    torch.testing.assert_close(image, unit + shift)


def test_a_covariance_twice_too_large_covers_too_much(errors):
    constant = constant_covariance(errors)
    right, large = FormScore.of(constant, errors), FormScore.of(4 * constant, errors)
    assert large.coverage_90 > right.coverage_90
    assert large.nll > right.nll
    assert large.ence > right.ence
