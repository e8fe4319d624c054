"""Problem 1: learn one bivariate normal distribution from its samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from mmpose.registry import DATASETS
from torch import Tensor

from hetpose.datasets.regression.source import Arrays, RegressionSource
from hetpose.errors import unknown_name
from hetpose.ops.spd import symmetric_sqrt

SMALLEST_CORRELATION = 0.5
MEAN_DISTANCES = {'far': 5.0, 'centred': 0.0}  # from the initial mean, the origin


@DATASETS.register_module()
class BivariateSource(RegressionSource):
    """Samples of one N(μ, Σ) with |correlation| > 0.5; the input is constant.

    The target covariance is the true one: the problem compares objectives, not pseudo-labels.

    Args:
        name: 'far' puts μ away from the initial mean, the origin; 'centred' puts it there.
        count: number of samples.
        kwargs: of RegressionSource.
    """

    def __init__(self, name: str = 'far', count: int = 320, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if name not in MEAN_DISTANCES:
            raise unknown_name('bivariate problem', name, tuple(MEAN_DISTANCES))
        self.name = name
        self.count = count

    @property
    def dims(self) -> tuple[int, int]:
        return 1, 2

    def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        angle = rng.uniform(0, 2 * np.pi)
        mean = MEAN_DISTANCES[self.name] * np.array([np.cos(angle), np.sin(angle)])
        correlation = rng.choice([-1, 1]) * rng.uniform(SMALLEST_CORRELATION + 0.2, 0.95)
        deviations = rng.uniform(0.7, 1.5, 2)
        shape = np.array([[1.0, correlation], [correlation, 1.0]])
        covariance = shape * np.outer(deviations, deviations)
        y = rng.multivariate_normal(mean, covariance, self.count, method='cholesky')
        return {
            'x': np.ones((self.count, 1)),
            'y': y,
            'true_mean': np.tile(mean, (self.count, 1)),
            'true_covariance': np.tile(covariance, (self.count, 1, 1)),
        }

    def target_root(self, train: Arrays) -> Tensor:
        assert train.true_covariance is not None
        root = symmetric_sqrt(train.true_covariance[:1])
        return torch.broadcast_to(root, train.true_covariance.shape).clone()
