"""Tables of what one change of a method does to its numbers.

An ablation is a method whose name is that of another, a dash, and the change: its units are
compared with those of the other method on the same dataset and trial.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from hetpose.apis.suites.plan import ABLATIONS, Suite, base_of, find_suite
from hetpose.apis.suites.report import TITLES
from hetpose.apis.suites.store import DIVERGED, Result
from hetpose.tables import markdown_table

SIZE = 'mahalanobis'  # mean of rᵀΣ⁻¹r / d of a Gaussian, which is 1 where Σ has the right size


def section(results: Sequence[Result]) -> str:
    """The part of the results' document with every change and what it does."""
    settings = results[0].settings
    suite = find_suite(settings.suite)
    bases = sorted({base for base in (base_of(r.unit.method) for r in results) if base})
    lines = [
        f'## {ABLATIONS.capitalize()} of {suite.name}, {settings.folder}',
        '',
        f'    hetpose suite {suite.name} --epochs {settings.epochs} \\',
        f'        --out docs/results/{ABLATIONS} \\',
        f'        --datasets {" ".join(suite.present(results))} \\',
        f'        --trials {1 + max(r.unit.trial for r in results)} \\',
        f'        --methods {" ".join(bases)} configs/{suite.name}/{ABLATIONS}/*.py',
        '',
        'Each row changes one thing in a method. The number is the change of the metric, a mean '
        'over trials: below 0 the changed method is better.',
    ]
    for metric in suite.metrics:
        table = change_table(suite, results, metric)
        lines += ['', f'### Change of {TITLES[metric]}', '', table]
    rescaled = rescaled_table(suite, results)
    if rescaled is not None:
        lines += ['', '### Change of NLL by recalibration', '']
        lines += ['Σ times one factor, fitted on the middle part; in nats for each target.', '']
        lines += [rescaled]
    return '\n'.join(lines)


def change_table(suite: Suite, results: Sequence[Result], metric: str) -> str:
    """The change of a metric by every ablation (rows) on every dataset (columns).

    A cell is the mean over the trials that both methods have; below 0 the ablation is better.
    """
    datasets = suite.present(results)
    names = sorted({r.unit.method for r in results if base_of(r.unit.method)})
    rows = [[name, *(_change(results, name, d, metric) for d in datasets)] for name in names]
    return markdown_table(['ablation', *datasets], rows)


def _change(results: Sequence[Result], name: str, dataset: str, metric: str) -> str:
    own, other = (
        {
            r.unit.trial: value
            for r in results
            if r.unit.kind == (dataset, method) and (value := r.metric(metric)) is not None
        }
        for method in (name, base_of(name))
    )
    pairs = [(own[t], other[t]) for t in sorted(own.keys() & other.keys())]
    if not pairs:
        return '–'
    if not all(math.isfinite(value) for pair in pairs for value in pair):
        return 'diverged'
    return f'{fmean(value - base for value, base in pairs):+.3f}'


def rescaled_change(result: Result) -> float | None:
    """The change of NLL for each target where Σ is scaled by the factor that fits the middle part.

    With m = mean rᵀΣ⁻¹r / d, α = m of the middle part is the likelihood's own choice of a scale,
    and αΣ changes the NLL of the test part by ½ log α + ½ m (1/α − 1) for each target. None where
    a unit has not stored m.
    """
    scale, size = result.validation.get(SIZE), result.metrics.get(SIZE)
    if result.status == DIVERGED or scale is None or size is None or scale <= 0:
        return None
    return 0.5 * (math.log(scale) + size * (1 / scale - 1))


def rescaled_table(suite: Suite, results: Sequence[Result]) -> str | None:
    """The change of NLL by recalibration, of every Gaussian method on every dataset."""
    changes: dict[tuple[str, str], list[float]] = {}
    for result in results:
        change = rescaled_change(result)
        if change is not None and base_of(result.unit.method) is None:
            changes.setdefault(result.unit.kind, []).append(change)
    if not changes:
        return None
    datasets = suite.present(results)
    rows = []
    for name in sorted({method for _, method in changes}):
        cells = [changes.get((dataset, name)) for dataset in datasets]
        rows.append([name, *('–' if cell is None else f'{fmean(cell):+.3f}' for cell in cells)])
    return markdown_table(['method', *datasets], rows)
