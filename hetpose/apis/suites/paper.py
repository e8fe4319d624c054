"""The published numbers, for the columns next to ours.

``paper_uci.csv`` and ``paper_compute.csv`` hold the tables of Shukla et al., "Towards
Self-Supervised Covariance Estimation in Deep Heteroscedastic Regression" (ICLR 2025). Its UCI
numbers were measured on the training data.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
OTHERS = 'others'  # the paper gives one memory figure for every method but TIC


class Published(NamedTuple):
    mean: float
    std: float


@cache
def uci() -> dict[tuple[str, str, str], Published]:
    """(dataset, method, metric) to the published mean and standard deviation."""
    return {
        (row['dataset'], row['method'], row['metric']): Published(
            float(row['mean']), float(row['std'])
        )
        for row in _rows('paper_uci.csv')
    }


@cache
def compute() -> dict[str, dict[str, dict[int, float]]]:
    """Quantity (time_ms, memory_mb) to method to dimension to the published value."""
    table: dict[str, dict[str, dict[int, float]]] = {}
    for row in _rows('paper_compute.csv'):
        for method in row['method'].split('|'):
            series = table.setdefault(row['quantity'], {}).setdefault(method, {})
            series[int(row['dim'])] = float(row['value'])
    return table


def _rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline='', encoding='utf-8') as handle:
        return list(csv.DictReader(handle))
