"""Stored units to a Markdown table, a JSON file and plots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hetpose.apis.suites import paper, plots
from hetpose.apis.suites.execute import mean_needs_covariance, method_config
from hetpose.apis.suites.plan import (
    BASELINE,
    HELDOUT,
    ORDER,
    Suite,
    find_suite,
    known_methods,
    rank,
)
from hetpose.apis.suites.recommended import NOTE, RECOMMENDED, with_recommended
from hetpose.apis.suites.statistics import FEWEST, Summary, summarise
from hetpose.apis.suites.store import DIVERGED, Digests, Result, load_current, strict
from hetpose.errors import UserError
from hetpose.fileio import write_json, write_text
from hetpose.tables import markdown_table

TITLES = {'mse': 'MSE', 'nll': 'NLL', 'tac': 'TAC', 'kl': 'KL', 'w2': 'W2²'}
COSTS = {'time_ms': 'ms/step', 'memory_mb': 'MB'}
WORSE = '▽'
ANCHORED_NOTE = (
    'anchored and anchored_student train their mean and then their covariance for the given '
    'epochs each; '
    'the other methods train both at once.'
)
NO_WARM_UP_NOTE = 'has no mean without its covariance and trains both from the start.'
PROTOCOL_NOTES = {
    HELDOUT: 'held-out: trained on 80%, tuned on 10%, measured on the last 10%',
    'paper': 'paper: trained and measured on the same data, as the published numbers were',
}

Table = dict[str, dict[str, dict[str, Summary]]]  # dataset, metric, method


def build_report(folder: Path, digests: Digests | None = None) -> str:
    """Write report.md, report.json and plots/ from the stored units; returns the Markdown.

    Units of another configuration than ``digests`` names for their method are left out.
    """
    results, left_out = load_current(folder, digests)
    if not results:
        raise UserError(f'no stored units in {folder}')
    results = with_recommended(results)
    suite = find_suite(results[0].settings.suite)
    table = tabulate(suite, results)
    losers = not_better_than_baseline(table) if results[0].settings.protocol == HELDOUT else {}
    pictures = plots.draw(suite, results, folder / 'plots')
    pictures = [path.relative_to(folder) for path in pictures]
    text = markdown(suite, results, table, losers, pictures, left_out)
    write_text(folder / 'report.md', text)
    write_json(folder / 'report.json', as_json(results, table, losers))
    return text


def tabulate(suite: Suite, results: Iterable[Result]) -> Table:
    """Summaries per dataset, metric and method; what has no value is left out."""
    cells: dict[str, Any] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for result in results:
        unit = result.unit
        for metric in suite.metrics:
            value = result.metric(metric)
            if value is not None and (result.status == DIVERGED or metric in result.metrics):
                cells[unit.dataset][metric][unit.method][unit.trial] = value
        for cost in COSTS:
            value = result.cost.get(cost)
            if value is not None:
                cells[unit.dataset][cost][unit.method][unit.trial] = value
    return {
        dataset: {metric: summarise(by_method) for metric, by_method in metrics.items()}
        for dataset, metrics in cells.items()
    }


def not_better_than_baseline(table: Table) -> dict[str, list[str]]:
    """Per dataset, the methods whose held-out NLL is not below that of the constant covariance.

    A method that misses a trial is judged only where it diverged.
    """
    losers = {}
    for dataset, metrics in table.items():
        nll = metrics.get('nll', {})
        if BASELINE in nll and nll[BASELINE].whole:
            limit = nll[BASELINE].mean
            losers[dataset] = [
                method
                for method, summary in nll.items()
                if method != BASELINE
                and (summary.diverged or (summary.whole and summary.mean >= limit))
            ]
    return losers


def markdown(
    suite: Suite,
    results: Sequence[Result],
    table: Table,
    losers: dict[str, list[str]],
    pictures: Sequence[Path],
    left_out: Sequence[str] = (),
) -> str:
    settings = results[0].settings
    trials = 1 + max(result.unit.trial for result in results)
    units = sum(result.unit.method != RECOMMENDED for result in results)
    warm = ', mean alone for the first half' if settings.warm_up else ''
    published = suite.name == 'uci' and any(dataset in suite.datasets for dataset in table)
    lines = [
        f'# {suite.name} suite',
        '',
        f'{settings.epochs} epochs{warm}, {trials} trial{"s" * (trials > 1)}, {units} '
        f'units. {PROTOCOL_NOTES[settings.protocol].capitalize()}.',
        '',
        _legend(trials, losers, published),
    ]
    if any(result.unit.method.startswith('anchored') for result in results):
        lines += ['', ANCHORED_NOTE]
    if any(result.unit.method == RECOMMENDED for result in results):
        lines += ['', NOTE]
    for method in _without_warm_up(results) if settings.warm_up else ():
        lines += ['', f'{method} {NO_WARM_UP_NOTE}']
    if left_out:
        lines += ['', f'Stored here, but left out: {"; ".join(left_out)}.']
    for dataset in sorted(table, key=suite.place):
        lines += ['', f'## {dataset}', '']
        lines += _dataset_table(suite, dataset, table[dataset], losers.get(dataset, []))
        lines += _divergences(dataset, results)
    if pictures:
        lines += ['', '## Plots', '']
        lines += [f'![{path.stem}]({quote(path.as_posix())})\n' for path in pictures]
    return '\n'.join(lines).rstrip() + '\n'


def _without_warm_up(results: Sequence[Result]) -> list[str]:
    """The suite's own methods that cannot train their mean alone."""
    settings = results[0].settings
    used = {result.unit.method for result in results}
    own = [method for method in known_methods(settings.suite) if method in used]
    return [method for method in own if mean_needs_covariance(method_config(method, settings))]


def _legend(trials: int, losers: dict[str, list[str]], published: bool) -> str:
    parts = ['Lower is better. Mean ± standard deviation over trials' if trials > 1 else
             'Lower is better. One trial, so no standard deviation and no test']  # fmt: skip
    parts.append('**bold** is the best' + (
        ' and what a paired t-test cannot tell from it (p > 0.05)' if trials >= FEWEST else ''
    ))  # fmt: skip
    if any(losers.values()):
        parts.append(f'{WORSE} does not beat {BASELINE} on held-out NLL')
    if published:
        parts.append('"paper" is the published value, measured on training data')
    return '; '.join(parts) + '.'


def _dataset_table(
    suite: Suite, dataset: str, metrics: dict[str, dict[str, Summary]], losers: list[str]
) -> list[str]:
    shown = [m for m in suite.metrics if m in metrics]
    published = paper.uci() if suite.name == 'uci' else {}
    with_paper = {m for m in shown if any((dataset, x, m) in published for x in ORDER)}
    costs = [cost for cost in COSTS if cost in metrics]
    header = ['method']
    for metric in shown:
        header += [TITLES[metric], *(['paper'] if metric in with_paper else [])]
    header += [COSTS[cost] for cost in costs]
    present = {method for column in metrics.values() for method in column}
    rows = []
    for method in sorted(present, key=rank):
        row = [f'{method} {WORSE}' if method in losers else method]
        for metric in shown:
            row.append(cell(metrics[metric].get(method)))
            if metric in with_paper:
                row.append(_paper_cell(published.get((dataset, method, metric))))
        row += [_cost_cell(metrics[cost].get(method)) for cost in costs]
        rows.append(row)
    return markdown_table(header, rows).splitlines()


def _cost_cell(summary: Summary | None) -> str:
    return '–' if summary is None else f'{summary.mean:.1f}'


def cell(summary: Summary | None) -> str:
    """A summary in a table: mean ± deviation, bold where it is best."""
    if summary is None:
        return '–'
    total = summary.count + summary.diverged
    if not summary.count:
        return 'diverged'
    text = number(summary.mean)
    if summary.count > 1:
        text += f' ± {number(summary.std)}'
    if summary.diverged:
        text += f' ({summary.diverged} of {total} diverged)'
    if summary.missing:
        text += f' ({total} of {total + summary.missing} trials)'
    return f'**{text}**' if summary.best else text


def _paper_cell(value: paper.Published | None) -> str:
    return '' if value is None else f'{value.mean:.2f} ± {value.std:.2f}'


def number(value: float) -> str:
    """Three decimals, or four significant figures for what is large."""
    return f'{value:.3f}' if abs(value) < 1000 else f'{value:.4g}'


def _divergences(dataset: str, results: Iterable[Result]) -> list[str]:
    lines = []
    for result in results:
        if result.unit.dataset == dataset and result.divergence:
            why = result.divergence
            lines.append(
                f'- {result.unit.method}, trial {result.unit.trial}: diverged at step '
                f'{why.get("step")} (epoch {why.get("epoch")}): {why.get("reason")}'
            )
    return ['', *lines] if lines else []


def as_json(
    results: Sequence[Result], table: Table, losers: dict[str, list[str]]
) -> dict[str, Any]:
    published = paper.uci() if results[0].settings.suite == 'uci' else {}
    entries = [
        {
            'dataset': dataset,
            'method': method,
            'metric': metric,
            **vars(summary),
            'paper': dict(published[key]._asdict()) if key in published else None,
        }
        for dataset, metrics in table.items()
        for metric, methods in metrics.items()
        for method, summary in methods.items()
        for key in [(dataset, method, metric)]
    ]
    return strict(
        {
            'settings': vars(results[0].settings),
            'not_better_than_homoscedastic': losers,
            'results': entries,
        }
    )
