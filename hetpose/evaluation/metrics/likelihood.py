"""The likelihood that a model itself reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mmengine.evaluator import BaseMetric
from mmpose.registry import METRICS


@METRICS.register_module()
class LikelihoodMetric(BaseMetric):
    """The mean of ``nll`` (B,) in the samples, nats per person."""

    default_prefix = ''  # the name stands alone

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Keep the values of a batch."""
        for sample in data_samples:
            self.results.extend(sample['nll'].double().cpu().numpy())

    def compute_metrics(self, results: list[float]) -> dict[str, float]:
        return {'nll': float(np.mean(results))}
