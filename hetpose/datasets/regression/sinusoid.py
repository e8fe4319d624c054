"""Univariate sinusoids whose noise grows with |x|."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mmpose.registry import DATASETS

from hetpose.datasets.regression.source import RegressionSource
from hetpose.errors import unknown_name

AMPLITUDES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    'growing': np.abs,
    'shrinking': lambda x: 5 - np.abs(x),
    'constant': lambda x: np.full_like(x, 5.0),
}
SINUSOIDS = tuple(AMPLITUDES)
HALF_WIDTH = 5.0
SMALLEST_VARIANCE = 1e-6  # σ(0) = 0 has no density


@DATASETS.register_module()
class SinusoidSource(RegressionSource):
    """y = a(x) sin 2πx + |x| ε, x uniform in [−5, 5]; a is |x|, 5 − |x| or 5.

    Args:
        name: 'growing', 'shrinking' or 'constant', the amplitude.
        count: number of samples.
        kwargs: of RegressionSource.
    """

    def __init__(self, name: str = 'growing', count: int = 50_000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if name not in AMPLITUDES:
            raise unknown_name('sinusoid', name, SINUSOIDS)
        self.name = name
        self.count = count

    @property
    def dims(self) -> tuple[int, int]:
        return 1, 1

    def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        x = rng.uniform(-HALF_WIDTH, HALF_WIDTH, (self.count, 1))
        mean = AMPLITUDES[self.name](x) * np.sin(2 * np.pi * x)
        variance = np.maximum(x**2, SMALLEST_VARIANCE)
        y = mean + np.sqrt(variance) * rng.standard_normal(x.shape)
        return {'x': x, 'y': y, 'true_mean': mean, 'true_covariance': variance[:, :, None]}
