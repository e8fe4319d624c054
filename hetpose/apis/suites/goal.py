"""The goal of the held-out study, and where it is missed.

The recommended method is held against one constant covariance and the methods of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping

from hetpose.apis.suites.plan import BASELINE, Suite
from hetpose.apis.suites.recommended import RECOMMENDED
from hetpose.apis.suites.report import Table, number
from hetpose.apis.suites.statistics import Summary
from hetpose.tables import markdown_table

PAPER_METHODS = (
    *('nll', 'nll_diagonal', 'beta_nll', 'faithful', 'kl', 'w2', 'w2_bound', 'nll_tic', 'hybrid'),
)
SAME_MEAN = 1e-3  # relative: a mean that was trained in another stack is rounded otherwise


def goal_table(suite: Suite, table: Table) -> str:
    """The recommended method, the constant covariance and the best of the paper's methods."""
    header = ['set, held out', 'trials', "MSE (mse's)", 'MSE', 'NLL, homoscedastic']
    header += ["NLL, best of the paper's", 'NLL', 'TAC, homoscedastic', 'TAC', 'goal']
    rows = []
    for dataset in sorted(table, key=suite.place):
        metrics = table[dataset]
        mine = {name: metrics.get(name, {}).get(RECOMMENDED) for name in ('mse', 'nll', 'tac')}
        if mine['nll'] is None:
            continue
        constant = {name: metrics[name].get(BASELINE) for name in ('nll', 'tac')}
        best = best_of_paper(metrics['nll'])
        met = goal_met(metrics) if judged(metrics) else {}
        rows.append(
            [
                dataset,
                str(mine['nll'].count),
                plain(metrics['mse'].get('mse')),
                plain(mine['mse']),
                plain(constant['nll']),
                '–' if best is None else f'{plain(metrics["nll"][best])} ({best})',
                plain(mine['nll']),
                plain(constant['tac']),
                plain(mine['tac']),
                ', '.join(f'{name} {"yes" if ok else "NO"}' for name, ok in met.items()) or '–',
            ]
        )
    return markdown_table(header, rows)


def best_of_paper(nll: Mapping[str, Summary]) -> str | None:
    """The method of the paper with the lowest mean; one that diverged in a trial is none."""
    whole = {m: nll[m].mean for m in PAPER_METHODS if m in nll and not nll[m].diverged}
    return min(whole, key=whole.__getitem__) if whole else None


def judged(metrics: Mapping[str, Mapping[str, Summary]]) -> bool:
    """Whether every rival was run in as many trials as the recommended method."""
    nll = metrics.get('nll', {})
    runs = {name: summary.count + summary.diverged for name, summary in nll.items()}
    rivals = (BASELINE, *PAPER_METHODS)
    return RECOMMENDED in nll and all(runs.get(m) == runs[RECOMMENDED] for m in rivals)


def goal_met(metrics: Mapping[str, Mapping[str, Summary]]) -> dict[str, bool]:
    """For one dataset: NLL and TAC below the constant covariance's and all of the paper's methods.

    The MSE must be no worse than that of training by MSE alone.
    """
    met = {}
    for name in ('nll', 'tac'):
        rivals = [
            metrics[name][m].mean
            for m in (BASELINE, *PAPER_METHODS)
            if m in metrics[name] and metrics[name][m].count
        ]
        mine = metrics[name][RECOMMENDED]
        met[name.upper()] = mine.whole and all(mine.mean < value for value in rivals)
    if 'mse' in metrics['mse']:
        limit = metrics['mse']['mse'].mean * (1 + SAME_MEAN)
        met['MSE'] = metrics['mse'][RECOMMENDED].mean <= limit
    return met


def goal_sentence(suite: Suite, table: Table) -> str:
    """The goal, and on how many sets it is met."""
    marks = [goal_met(metrics) for metrics in table.values() if judged(metrics)]
    counts = {name: sum(met.get(name, False) for met in marks) for name in ('NLL', 'TAC', 'MSE')}
    every = len(suite.datasets)
    return (
        'The goal: NLL of the recommended method below homoscedastic and every method of the '
        f'paper on {every} of {every} sets, TAC on at least 10, MSE no worse than by MSE alone. '
        f'Of {len(marks)} sets with all methods: '
        + ', '.join(f'{name} on {count}' for name, count in counts.items())
        + '.'
    )


def plain(summary: Summary | None) -> str:
    """A summary in a table that marks no best."""
    if summary is None:
        return '–'
    if not summary.count:
        return 'diverged'
    spread = f' ± {number(summary.std)}' if summary.count > 1 else ''
    return number(summary.mean) + spread
