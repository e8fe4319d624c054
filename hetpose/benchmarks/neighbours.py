"""Exact neighbours against dense distances with top-k, and against scikit-learn's brute force."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from hetpose.benchmarks.harness import Comparison, Row, interleave, peak_memory
from hetpose.ops.neighbour_search import neighbour_blocks
from hetpose.ops.neighbours import nearest_neighbours, pseudo_covariances, whiten
from hetpose.paths import data_root

NEIGHBOURS = 90
GAS_ROWS = 36_733
MANY_ROWS = 200_000
MEMORY_BOUND = 2**30
CHECKED_ROWS = 300
# The dense side works in blocks too: all 36,733² distances at once would take 5.4 GB.
DENSE_ROWS = 2048
MODULE = 'hetpose.benchmarks.neighbours'


def gas_inputs() -> tuple[str, Tensor]:
    """Two whitened columns of the gas set, or of as many random rows where the set is absent."""
    path = data_root('uci') / 'gas.csv'
    if path.exists():
        values = np.genfromtxt(path, delimiter=',', skip_header=1, usecols=(0, 1))
        return 'gas', whiten(torch.from_numpy(values))
    return 'stand-in for gas', table(GAS_ROWS, 2)


def table(rows: int, columns: int) -> Tensor:
    """Correlated, whitened random rows, in double precision."""
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(rows, columns, dtype=torch.float64, generator=generator)
    mix = torch.randn(columns, columns, dtype=torch.float64, generator=generator)
    return whiten(values @ mix)


def dense(x: Tensor, k: int = NEIGHBOURS) -> tuple[Tensor, Tensor]:
    """All pairwise distances in single precision and the k smallest of each row."""
    x = x.float()
    parts = [torch.cdist(part, x).topk(k, largest=False) for part in x.split(DENSE_ROWS)]
    return torch.cat([p.values for p in parts]), torch.cat([p.indices for p in parts])


def brute_force(x: Tensor, k: int = NEIGHBOURS) -> object:
    """scikit-learn's brute force."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=k, algorithm='brute', n_jobs=-1)
    return search.fit(x.numpy()).kneighbors(x.numpy())


def largest_error(x: Tensor, k: int = NEIGHBOURS) -> float:
    """Largest error of the distances of some rows, against all differences in double precision."""
    rows = torch.linspace(0, len(x) - 1, CHECKED_ROWS).long()
    found = nearest_neighbours(x, k)[0][rows]
    exact = [(x - x[i]).square().sum(1).sqrt().topk(k, largest=False).values for i in rows]
    return float((found - torch.stack(exact)).abs().max())


def prepare_ours(rows: int, columns: int) -> Callable[[], object]:
    x = table(rows, columns)
    nearest_neighbours(x[:200], 5)
    return lambda: nearest_neighbours(x, NEIGHBOURS)


def prepare_dense(rows: int, columns: int) -> Callable[[], object]:
    x = table(rows, columns).float()
    dense(x[:200], 5)
    return lambda: torch.cdist(x, x).topk(NEIGHBOURS, largest=False)


def prepare_brute_force(rows: int, columns: int) -> Callable[[], object]:
    x = table(rows, columns)
    brute_force(x[:200], 5)
    return lambda: brute_force(x)


def prepare_first_blocks(rows: int, columns: int) -> Callable[[], object]:
    """Memory is the same in every block: three of them tell what all would take."""
    x = table(rows, columns)
    nearest_neighbours(x[:200], 5)

    def three() -> None:
        for _, _ in zip(range(3), neighbour_blocks(x, NEIGHBOURS, MEMORY_BOUND), strict=False):
            pass

    return three


def prepare_covariances(rows: int, columns: int) -> Callable[[], object]:
    x = table(rows, columns)
    pseudo_covariances(x[:200], x[:200])
    return lambda: pseudo_covariances(x, x[:, :2])


def _row(name: str, x: Tensor, reference: Callable[[Tensor], object], required: float) -> Row:
    repeats = 3 if x.shape[1] == 2 else 1
    sides: dict[str, Callable[[], object]] = {
        'ours': lambda: nearest_neighbours(x, NEIGHBOURS),
        'reference': lambda: reference(x),
    }
    times = interleave(sides, repeats, warm_up=0)
    timed, error = Comparison(times['ours'], times['reference']), largest_error(x)
    metrics: dict[str, float | str] = {
        'ours ms': 1e3 * timed.ours,
        'reference ms': 1e3 * timed.reference,
        'time ratio': timed.ratio,
        'error': error,
    }
    passed = timed.ratio >= required and error <= 1e-9
    return Row(name, metrics, f'time >= {required:g}x, error <= 1e-9', passed)


def _with_memory(row: Row, reference: str, rows: int, columns: int) -> Row:
    mine = peak_memory(f'{MODULE}:prepare_ours', rows, columns)
    theirs = peak_memory(f'{MODULE}:{reference}', rows, columns)
    memory: dict[str, float | str] = {
        'ours MB': mine / 1e6,
        'reference MB': theirs / 1e6,
        'memory ratio': theirs / max(mine, 1),
    }
    return Row(row.name, row.metrics | memory, row.required, row.passed)


def _bound_row(name: str, function: str, columns: int) -> Row:
    peak = peak_memory(f'{MODULE}:{function}', MANY_ROWS, columns)
    metrics: dict[str, float | str] = {'ours MB': peak / 1e6}
    return Row(name, metrics, 'memory <= 1074 MB', peak <= MEMORY_BOUND)


def run(quick: bool = False) -> list[Row]:
    """Gas, 50,000 rows of 64 columns, and the memory of 200,000 rows; quick: fewer rows."""
    name, gas = gas_inputs()
    rows, columns = (10_000 if quick else 50_000), 64
    first = _row(f'{name} {len(gas):,} x 2 / dense', gas, dense, 20.0)
    second = _row(f'{rows:,} x {columns} / sklearn', table(rows, columns), brute_force, 1.0)
    if quick:
        return [first, second]
    return [
        _with_memory(first, 'prepare_dense', len(gas), 2),
        _with_memory(second, 'prepare_brute_force', rows, columns),
        _bound_row(f'{MANY_ROWS:,} x 2 covariances', 'prepare_covariances', 2),
        _bound_row(f'{MANY_ROWS:,} x {columns} search', 'prepare_first_blocks', columns),
    ]
