import math

import torch
from helpers import random_covariance

from hetpose.evaluation.functional.regression import regression_scores

DIM = 3


def test_scores_at_the_truth() -> None:
    mean, sigma = torch.randn(6, DIM).double(), random_covariance(6, dim=DIM)
    scores = regression_scores(mean, mean, sigma, true_mean=mean, true_covariance=sigma)
    for name in ('mse', 'tac', 'kl', 'w2'):
        zero = torch.zeros_like(scores[name])
        torch.testing.assert_close(scores[name], zero, atol=1e-6, rtol=0)
    normal = torch.distributions.MultivariateNormal(mean, sigma)
    torch.testing.assert_close(scores['nll'], -normal.log_prob(mean))


def test_scores_of_the_standard_normal() -> None:
    target, mean = torch.ones(1, DIM), torch.zeros(1, DIM)
    scores = regression_scores(target, mean, torch.eye(DIM)[None])
    assert scores['mse'].item() == 1.0
    assert scores['tac'].item() == 1.0
    assert math.isclose(scores['nll'].item(), 0.5 * DIM * (math.log(2 * math.pi) + 1))
    assert math.isclose(scores['mahalanobis'].item(), 1.0)
    assert set(scores) == {'mse', 'nll', 'tac', 'mahalanobis'}


def test_a_mean_alone_has_an_error_alone() -> None:
    assert set(regression_scores(torch.ones(2, 1), torch.zeros(2, 1))) == {'mse'}


def test_a_student_is_scored_by_its_own_likelihood_and_divergence() -> None:
    """At infinite degrees of freedom the scores are the Gaussian's; heavy tails change two."""
    target, mean, true_mean = torch.randn(3, 6, 3, dtype=torch.float64)
    covariance, truth = random_covariance(2, 6, dim=3)
    settings = dict(true_mean=true_mean, true_covariance=truth)
    gaussian = regression_scores(target, mean, covariance, **settings)
    endless = torch.full((6,), torch.inf, dtype=torch.float64)
    same = regression_scores(target, mean, covariance, **settings, degrees_of_freedom=endless)
    assert set(gaussian) - set(same) == {'mahalanobis'}  # of a Gaussian alone
    for name, value in same.items():
        torch.testing.assert_close(value, gaussian[name], rtol=1e-6, atol=1e-6)
    nu = torch.full((6,), 4.0, dtype=torch.float64)
    heavy = regression_scores(target, mean, covariance, **settings, degrees_of_freedom=nu)
    changed = {name for name in heavy if not torch.equal(heavy[name], gaussian[name])}
    assert changed == {'nll', 'kl'}
