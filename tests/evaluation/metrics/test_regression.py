import torch
from helpers import random_covariance

from hetpose.evaluation.functional.regression import regression_scores
from hetpose.evaluation.metrics.regression import RegressionMetric


def test_batches_are_merged_sample_by_sample() -> None:
    y, mean = torch.randn(2, 10, 3)
    sigma = random_covariance(10, dim=3).float()
    metric = RegressionMetric()
    for rows in (slice(0, 7), slice(7, 10)):  # unequal batches: a mean of means would be wrong
        metric.process({'y': y[rows]}, [{'mean': mean[rows], 'covariance': sigma[rows]}])
    found = metric.evaluate(size=10)
    for name, values in regression_scores(y, mean, sigma).items():
        torch.testing.assert_close(torch.tensor(found[name]), values.double().mean().float())


def test_rows_that_pad_a_process_are_dropped() -> None:
    metric = RegressionMetric()
    y = torch.tensor([[0.0], [2.0], [99.0]])
    metric.process({'y': y}, [{'mean': torch.zeros(3, 1), 'covariance': None}])
    assert metric.evaluate(size=2)['mse'] == 2.0
