"""The cost of one training step of each method, both networks and the optimiser included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from mmpose.registry import MODELS

import hetpose  # noqa: F401  (registers the components)
from hetpose.benchmarks.harness import Row, interleave
from hetpose.ops.spd import symmetric_sqrt

BATCH = 32
FLOOR = 1e-3
FACTOR = {'type': 'FactorCovariance', 'floor': FLOOR}
TAYLOR = {'type': 'TaylorInducedCovariance', 'order': 'full', 'floor': FLOOR}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    'nll': ('NLLObjective', FACTOR),
    'w2_bound': ('W2BoundObjective', FACTOR),
    'w2': ('W2Objective', FACTOR),
    'nll_tic': ('NLLObjective', TAYLOR),
}
DIMS = (4, 8, 16, 28, 32)
QUICK_DIMS = (4, 8)
# Numerator, denominator, largest ratio, and the dimensions that it is required at.
LIMITS: tuple[tuple[str, str, float, tuple[int, ...]], ...] = (
    ('w2_bound', 'nll', 1.0, DIMS),
    ('w2', 'w2_bound', 1.5, (28,)),
    ('nll_tic', 'nll', 5.0, (8,)),
    ('nll_tic', 'nll', 25.0, (32,)),
)


def training_step(method: str, dim: int) -> Callable[[], torch.Tensor]:
    """A step of ``method`` on random data with d inputs and d targets; a call returns its loss."""
    objective, covariance = METHODS[method]
    model = MODELS.build(
        {
            'type': 'HeteroscedasticRegressor',
            'in_dim': dim,
            'out_dim': dim,
            'objective': {'type': objective},
            'covariance': covariance,
        }
    )
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, BATCH, dim, generator=generator)
    half = torch.randn(BATCH, dim, dim, generator=generator) / dim**0.5
    root = symmetric_sqrt(half @ half.mT)

    def step() -> torch.Tensor:
        loss = model(x, y, target_root=root, mode='loss')['loss']
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


def run(quick: bool = False) -> list[Row]:
    """Milliseconds per step by dimension, then the required ratios."""
    rows = []
    checks = []
    for dim in QUICK_DIMS if quick else DIMS:
        steps = {name: training_step(name, dim) for name in METHODS}
        times = interleave(steps, repeats=5 if quick else 21, warm_up=3)
        rows.append(Row(f'd = {dim}', {f'{name} ms': 1e3 * t for name, t in times.items()}))
        for top, bottom, limit, dims in LIMITS:
            if dim in dims:
                ratio = times[top] / times[bottom]
                checks.append(
                    Row(
                        f'{top} / {bottom}, d = {dim}',
                        {'ratio': ratio},
                        required=f'at most {limit:g}',
                        passed=ratio <= limit,
                    )
                )
    return rows + checks
