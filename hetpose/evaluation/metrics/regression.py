"""Scores of a regressor over a data set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mmengine.evaluator import BaseMetric
from mmpose.registry import METRICS
from torch import Tensor

from hetpose.evaluation.functional.regression import regression_scores


@METRICS.register_module()
class RegressionMetric(BaseMetric):
    """Means over the samples of mse, nll, tac, mahalanobis and, with a known truth, kl and w2."""

    default_prefix = ''  # the names stand alone

    def process(self, data_batch: dict[str, Tensor], data_samples: Sequence[dict]) -> None:
        """Score a batch; one row of scores per sample, so that processes can be merged."""
        (prediction,) = data_samples
        mean = prediction['mean']
        known: dict[str, Tensor] = {
            name: data_batch[name].to(mean)
            for name in ('true_mean', 'true_covariance')
            if name in data_batch
        }
        if 'degrees_of_freedom' in prediction:
            known['degrees_of_freedom'] = prediction['degrees_of_freedom'].to(mean)
        scores = regression_scores(
            data_batch['y'].to(mean), mean, prediction['covariance'], **known
        )
        columns = [value.double().cpu().numpy() for value in scores.values()]
        self.names = list(scores)
        self.results.extend(np.stack(columns, axis=-1))

    def compute_metrics(self, results: list[np.ndarray]) -> dict[str, float]:
        means = np.stack(results).mean(0)
        return dict(zip(self.names, means.tolist(), strict=True))
