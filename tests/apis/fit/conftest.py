"""Errors whose covariance is known to depend on the evidence."""

import numpy as np
import pytest

from hetpose.apis.fit.cache import Errors

JOINTS = 3


@pytest.fixture(scope='session')
def errors() -> Errors:
    """600 people in 300 images: errors that share a shift, and grow with the first statistic."""
    rng = np.random.default_rng(0)
    count = 600
    statistics = rng.normal(size=(count, JOINTS, 8)).astype(np.float32)
    size = np.exp(0.8 * statistics[:, :1, :1])
    shift = rng.normal(size=(count, 1, 2))
    side = rng.uniform(80, 300, count)
    residual = (
        size * (shift + 0.4 * rng.normal(size=(count, JOINTS, 2))) * side[:, None, None] / 100
    )
    mask = rng.random((count, JOINTS)) < 0.9
    mask[:, 0] = True
    return Errors(
        pooled=rng.normal(size=(count, 12)).astype(np.float16),
        statistics=statistics,
        residual=np.where(mask[..., None], residual, 0.0),
        mask=mask,
        side=side,
        image=np.repeat([f'{i}.jpg' for i in range(count // 2)], 2),
    )
