"""Timing side by side, peak memory of each side in its own process, and the table of results."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hetpose import memory
from hetpose.fileio import write_text
from hetpose.tables import markdown_table, text_table

SHORTEST_TURN = 5e-3  # seconds


@dataclass(frozen=True)
class Comparison:
    """Median seconds of both sides; ``ratio`` is how many times faster ours is."""

    ours: float
    reference: float

    @property
    def ratio(self) -> float:
        return self.reference / self.ours


@dataclass(frozen=True)
class Row:
    """One line of the table; ``passed`` is None where nothing is required."""

    name: str
    metrics: dict[str, float | str] = field(default_factory=dict)
    required: str = ''
    passed: bool | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def machine() -> dict[str, Any]:
    """The machine and the versions of the measurement."""
    return dict(torch=torch.__version__, threads=torch.get_num_threads(), cores=os.cpu_count())


def write_random_table(path: Path, rows: int, columns: int) -> None:
    """Write a CSV file of normal numbers with a header row, the same for the same shape."""
    values = np.random.default_rng(0).standard_normal((rows, columns))
    lines = [','.join(f'c{i}' for i in range(columns))]
    lines += [','.join(f'{value:.5f}' for value in row) for row in values]
    write_text(path, '\n'.join(lines) + '\n')


def seconds(function: Callable[[], Any], calls: int = 1) -> float:
    """Wall-clock seconds of one call, the mean of ``calls`` in a row."""
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def interleave(
    sides: dict[str, Callable[[], Any]], repeats: int, warm_up: int = 1
) -> dict[str, float]:
    """Median seconds of every side, called in turn: a slow spell of the machine meets them all.

    A turn of a short call is several calls, so that it does not measure the caches that the other
    side left behind.
    """
    if repeats < 1:
        raise ValueError(f'repeats must be at least 1, got {repeats}')
    calls = dict.fromkeys(sides, 1)
    for _ in range(warm_up):
        for name, function in sides.items():
            calls[name] = max(1, round(SHORTEST_TURN / seconds(function)))
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, function in sides.items():
            times[name].append(seconds(function, calls[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def compare(
    ours: Callable[[], Any], reference: Callable[[], Any], repeats: int = 7, warm_up: int = 1
) -> Comparison:
    """Interleaved medians of two callables."""
    times = interleave({'ours': ours, 'reference': reference}, repeats, warm_up)
    return Comparison(times['ours'], times['reference'])


@dataclass(frozen=True)
class PairedComparison:
    """Seconds of CPU of both sides, and ours / reference, the median over turns.

    ``error`` is the standard error of that median, from the spread of the turns.
    """

    ours: float
    reference: float
    ratio: float
    error: float


def compare_pairs(
    ours: Callable[[], Any], reference: Callable[[], Any], repeats: int = 25, warm_up: int = 2
) -> PairedComparison:
    """Compare two callables by the CPU time of neighbouring calls.

    Other processes take wall-clock time from a call, but little of its CPU time; a slow spell
    meets both calls of a pair. Every other pair runs in the other order.
    """
    if repeats < 1:
        raise ValueError(f'repeats must be at least 1, got {repeats}')
    sides = (ours, reference)
    for _ in range(warm_up):
        for function in sides:
            function()
    pairs = []
    for turn in range(repeats):
        taken = [0.0, 0.0]
        for side in (0, 1) if turn % 2 else (1, 0):
            start = time.process_time()
            sides[side]()
            taken[side] = time.process_time() - start
        pairs.append(taken)
    ratios = [one / other for one, other in pairs]
    middle = statistics.median(ratios)
    spread = 1.4826 * statistics.median([abs(ratio - middle) for ratio in ratios])
    return PairedComparison(
        statistics.median([one for one, _ in pairs]),
        statistics.median([other for _, other in pairs]),
        middle,
        1.2533 * spread / repeats**0.5,
    )


def peak_memory(target: str, *arguments: Any) -> int:
    """Peak bytes that a call needs above what its process, a child of this one, held before.

    ``target`` is ``'package.module:function'``; ``function(*arguments)`` prepares the data and
    returns the callable that is measured. The arguments must be JSON values.
    """
    command = [sys.executable, '-m', 'hetpose.benchmarks.harness', target, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f'{target} failed in its own process:\n{done.stderr}')
    return int(done.stdout.strip().splitlines()[-1])


def measure_here(target: str, arguments: Sequence[Any]) -> int:
    """Peak bytes of one target above the baseline, in this process."""
    module, _, name = target.partition(':')
    call = getattr(importlib.import_module(module), name)(*arguments)
    baseline = memory.reset_peak()
    call()
    return max(memory.peak() - baseline, 0)


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else f'{value:.3g}'


def format_table(rows: Sequence[Row], markdown: bool = False) -> str:
    """The rows as aligned text; columns are the union of their metrics in order of appearance."""
    names = list(dict.fromkeys(name for row in rows for name in row.metrics))
    verdicts = {True: 'pass', False: 'FAIL', None: '-'}
    lines = []
    for row in rows:
        cells = [_cell(row.metrics[name]) if name in row.metrics else '' for name in names]
        lines.append([row.name, *cells, row.required, verdicts[row.passed]])
    write = markdown_table if markdown else text_table
    return write(['', *names, 'required', ''], lines)


def main() -> None:
    """The child process of ``peak_memory``."""
    parser = argparse.ArgumentParser(description=peak_memory.__doc__)
    parser.add_argument('target')
    parser.add_argument('arguments', type=json.loads)
    options = parser.parse_args()
    print(measure_here(options.target, options.arguments))


if __name__ == '__main__':
    main()
