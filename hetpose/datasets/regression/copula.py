"""Multivariate data with a known covariance that varies with the input."""

from __future__ import annotations

from typing import Any

import numpy as np
from mmpose.registry import DATASETS
from scipy.stats import norm

from hetpose.datasets.regression.source import RegressionSource
from hetpose.errors import UserError

SAMPLES_PER_DIMENSION = 1_000
MOST_SAMPLES = 20_000
CORRELATION_RANK = 0.5  # of d; the fewer common factors, the stronger the correlations


def random_correlation(dim: int, rng: np.random.Generator) -> np.ndarray:
    """A strong correlation matrix (d, d): few common factors and a little independent noise."""
    factors = rng.standard_normal((dim, max(1, int(CORRELATION_RANK * dim))))
    covariance = factors @ factors.T + np.diag(rng.uniform(0.1, 0.5, dim))
    deviation = np.sqrt(np.diagonal(covariance))
    return covariance / np.outer(deviation, deviation)


@DATASETS.register_module()
class CopulaSource(RegressionSource):
    """X and Y jointly normal, X redrawn uniform by a Gaussian copula, noise that grows with |x|.

    The joint covariance is d times a random correlation matrix, the means are uniform in [−d, d].
    μ(x) = E[Y | X = x], Σ(x) = Cov(Y | X) + Σ_Z + diag √|x − E x| with Σ_Z a random correlation
    matrix. X keeps its mean and variance under the uniform law.

    Args:
        name: the dimension of input and target, as a number or as 'd8'.
        count: number of samples; None is 1000 d, at most 20,000.
        kwargs: of RegressionSource.
    """

    def __init__(self, name: int | str = 8, count: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        digits = str(name).removeprefix('d')
        if not digits.isdigit() or int(digits) < 1:
            raise UserError(f'unknown dimension {name!r}; known: d1, d2, …')
        self.dim = int(digits)
        self.count = count or min(SAMPLES_PER_DIMENSION * self.dim, MOST_SAMPLES)

    @property
    def dims(self) -> tuple[int, int]:
        return self.dim, self.dim

    def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        dim = self.dim
        joint = dim * random_correlation(2 * dim, rng)
        mean_x, mean_y = rng.uniform(-dim, dim, (2, dim))
        xx, yx, yy = joint[:dim, :dim], joint[dim:, :dim], joint[dim:, dim:]
        slope = np.linalg.solve(xx, yx.T).T  # (d, d)
        noise_z = random_correlation(dim, rng)
        normal = rng.multivariate_normal(np.zeros(dim), xx / dim, self.count, method='cholesky')
        uniform = np.sqrt(12.0) * (norm.cdf(normal) - 0.5)  # zero mean, unit variance
        centred = np.sqrt(dim) * uniform
        mean = mean_y + centred @ slope.T
        base = yy - slope @ yx.T + noise_z
        variance = np.sqrt(np.abs(centred))  # (N, d)
        covariance = base + variance[:, :, None] * np.eye(dim)
        noise = rng.standard_normal((self.count, dim, 1))
        y = mean + (np.linalg.cholesky(covariance) @ noise)[..., 0]
        return {
            'x': mean_x + centred,
            'y': y,
            'true_mean': mean,
            'true_covariance': covariance,
        }
