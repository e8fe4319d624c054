"""The mean of a model's own likelihoods."""

import torch

from hetpose.evaluation.metrics import LikelihoodMetric


def test_every_person_counts_alike():
    metric = LikelihoodMetric()
    metric.process({}, [dict(nll=torch.tensor([1.0, 2.0, 3.0]))])
    metric.process({}, [dict(nll=torch.tensor([10.0]))])
    assert metric.evaluate(4) == {'nll': 4.0}
