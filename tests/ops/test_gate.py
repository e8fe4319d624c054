"""The gate of robust conditioning: its limits, its masks and its posterior."""

import pytest
import torch
from helpers import random_covariance

from hetpose.ops.gate import moving_probability
from hetpose.ops.gaussian import negative_log_likelihood
from hetpose.ops.student import predictive_nll

D = torch.float64


@pytest.mark.parametrize('nu', [None, 4.0])
def test_is_the_posterior_of_two_hypotheses(nu):
    shift, covariance = torch.randn(7, 2, dtype=D), random_covariance(7, dim=2)
    tails = None if nu is None else torch.full((7,), nu, dtype=D)
    at_place = torch.exp(-predictive_nll(shift, covariance, tails))
    at_mode = torch.exp(-predictive_nll(torch.zeros_like(shift), covariance, tails))
    expected = at_mode / (at_mode + 5 * at_place)
    found = moving_probability(shift, covariance, 5.0, tails)
    torch.testing.assert_close(found, expected)


def test_limits():
    identity = torch.eye(2, dtype=D)
    near, far = torch.zeros(2, dtype=D), torch.full((2,), 1e3, dtype=D)
    assert moving_probability(near, identity, 0.0) == 1
    assert moving_probability(near, identity, 9.0).item() == pytest.approx(0.1)
    assert moving_probability(far, identity, 9.0) == 1
    heavy = moving_probability(far, identity, 9.0, torch.tensor(3.0, dtype=D))
    assert 0.99 < heavy < 1  # a Student-t is never as sure as a Gaussian


def test_infinite_degrees_of_freedom_are_the_gaussian():
    shift, covariance = torch.randn(5, 2, dtype=D), random_covariance(5, dim=2)
    endless = torch.full((5,), torch.inf, dtype=D)
    torch.testing.assert_close(
        moving_probability(shift, covariance, 3.0, endless),
        moving_probability(shift, covariance, 3.0),
    )


def test_a_missing_dimension_says_nothing():
    shift, covariance = torch.randn(5, 2, dtype=D), random_covariance(5, dim=2)
    mask = torch.tensor([True, False])
    for nu in (None, torch.full((5,), 3.0, dtype=D)):
        torch.testing.assert_close(
            moving_probability(shift, covariance, 3.0, nu, mask),
            moving_probability(shift[:, :1], covariance[:, :1, :1], 3.0, nu),
        )
    nothing = moving_probability(shift, covariance, 3.0, mask=torch.zeros(2, dtype=torch.bool))
    torch.testing.assert_close(nothing, torch.full((5,), 0.25, dtype=D))


def test_bad_odds_are_named():
    with pytest.raises(ValueError, match='odds'):
        moving_probability(torch.zeros(2), torch.eye(2), -1.0)


def test_the_density_is_that_of_the_conditional():
    """The Gaussian ratio p(−shift)/p(0) is exp(−q/2), whatever the determinant."""
    shift, covariance = torch.randn(3, 2, dtype=D), random_covariance(3, dim=2)
    ratio = torch.exp(
        negative_log_likelihood(torch.zeros_like(shift), covariance)
        - negative_log_likelihood(shift, covariance)
    )
    torch.testing.assert_close(
        moving_probability(shift, covariance, 2.0), 1 / (1 + 2 * ratio), rtol=1e-9, atol=0
    )
