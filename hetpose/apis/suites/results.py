"""One document of all stored units: tables by dataset and method."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Sized
from pathlib import Path

from hetpose.apis.suites import ablations, paper
from hetpose.apis.suites.goal import goal_sentence, goal_table, plain
from hetpose.apis.suites.plan import (
    ABLATIONS,
    HELDOUT,
    SUITES,
    Settings,
    Suite,
    find_suite,
    rank,
)
from hetpose.apis.suites.plots.cost import draw_cost
from hetpose.apis.suites.plots.overview import draw_overview
from hetpose.apis.suites.recommended import NOTE, RECOMMENDED, with_recommended
from hetpose.apis.suites.report import PROTOCOL_NOTES, TITLES, Table, cell, tabulate
from hetpose.apis.suites.store import Result, load_current
from hetpose.errors import UserError
from hetpose.fileio import write_text
from hetpose.tables import markdown_table

FINDINGS = 'findings.md'
BLOCK = re.compile(r'(<!-- results: (\S+) -->\n).*?(<!-- end of results -->)', re.DOTALL)
Group = tuple[Path, list[Result]]


def write_results(folder: Path, out: Path, readme: Path | None = None) -> str:
    """Write the document ``out`` from ``folder/<suite>/<settings>/units``; returns its text.

    Args:
        folder: Its findings.md, if there is one, opens the document.
        out: The Markdown file.
        readme: A file whose blocks between result comments are written again.
    """
    groups = stored_groups(folder)
    if not groups:
        raise UserError(f'no stored units in {folder}; run hetpose suite --out {folder}/SUITE')
    parts = [_head(groups)]
    findings = folder / FINDINGS
    if findings.is_file():
        parts.append(findings.read_text(encoding='utf-8').strip())
    parts += [_section(path, results, out.parent) for path, results in groups]
    for _, changed in _groups(folder, [ABLATIONS]):
        for suite in SUITES:  # which may share a folder
            own = [result for result in changed if result.settings.suite == suite]
            parts += [ablations.section(own)] if own else []
    text = '\n\n'.join(parts) + '\n'
    write_text(out, text)
    if readme is not None:
        tables = headline_tables(folder)
        write_text(readme, with_blocks(readme.read_text(encoding='utf-8'), tables))
    return text


def stored_groups(folder: Path) -> list[Group]:
    """The stored results of every suite and settings, the recommended ones among them."""
    changed = [r for _, results in _groups(folder, [ABLATIONS]) for r in results]
    groups = []
    for path, results in _groups(folder, list(SUITES)):
        variants = [r for r in changed if r.settings == results[0].settings]
        groups.append((path, with_recommended(results, variants)))
    return groups


def _groups(folder: Path, names: Sequence[str]) -> list[Group]:
    paths = [path.parent for name in names for path in sorted(folder.glob(f'{name}/*/units'))]
    return [(path, load_current(path)[0]) for path in paths]


def headline_tables(folder: Path) -> dict[str, str]:
    """The tables that other documents quote, by name; those without any unit are left out."""
    tables = {}
    for _, results in stored_groups(folder):
        settings = results[0].settings
        if settings == Settings('uci', HELDOUT, settings.epochs):
            suite = find_suite('uci')
            tables['uci-heldout'] = goal_table(suite, tabulate(suite, results))
        elif settings == Settings('uci', 'paper', settings.epochs):
            tables['uci-paper'] = _paper_table(find_suite('uci'), results)
    return tables


def with_blocks(text: str, tables: Mapping[str, str]) -> str:
    """The text with the tables written into the blocks of their names."""

    def fill(match: re.Match[str]) -> str:
        table = tables.get(match[2])
        return match[0] if table is None else f'{match[1]}{table}\n{match[3]}'

    return BLOCK.sub(fill, text)


def _head(groups: Sequence[Group]) -> str:
    units = [r for _, results in groups for r in results if r.unit.method != RECOMMENDED]
    hours = sum(r.made.get('seconds', 0.0) for r in units) / 3600
    machines, versions = (
        '; '.join(sorted({str(r.made[key]) for r in units if key in r.made}))
        for key in ('machine', 'torch')
    )
    return (
        '# Results of the suites\n\n'
        'Written by `hetpose results` from the units under `docs/results`; a unit is one training '
        'run (a method on a dataset in a trial, whose number is its seed), stored with its time '
        'and a digest of config, data and version of the code. '
        f'{len(units)} units, {hours:.1f} hours on one CPU thread each (other work ran on the '
        f'same cores); machine: {machines}; torch {versions}. A command continues with the units '
        'that are missing. Lower is better everywhere; ± is the standard deviation over trials, '
        '**bold** the best and, of three trials or more, what a paired t-test cannot tell from it '
        '(5%). '
        f'{NOTE}'
    )


def _section(path: Path, results: list[Result], base: Path) -> str:
    settings = results[0].settings
    suite = find_suite(settings.suite)
    lines = [f'## {suite.name}, {settings.folder}', '', f'    {_command(settings, results)}', '']
    lines += [f'{PROTOCOL_NOTES[settings.protocol].capitalize()}. {_count(suite, results)}']
    table = tabulate(suite, results)
    if suite.name == 'uci' and settings.protocol == HELDOUT and not settings.warm_up:
        lines += ['', '### The goal', '', goal_table(suite, table)]
        lines += ['', goal_sentence(suite, table)]
    for metric in suite.metrics:
        lines += ['', f'### {TITLES[metric]}', '', _metric_table(suite, table, metric)]
    if suite.name == 'uci' and settings.protocol != HELDOUT:
        lines += ['', '### Next to the published numbers', '', _paper_table(suite, results)]
    if suite.name == 'multivariate' and any('time_ms' in metrics for metrics in table.values()):
        lines += ['', '### Cost', '', _cost_table(suite, table)]
        name = f'{settings.folder}-cost.png'  # settings share a folder
        lines += [_picture('cost', p, base) for p in draw_cost(suite, results, path.parent, name)]
    picture = draw_overview(suite, results, path.parent / f'{settings.folder}.png')
    if picture is not None:
        lines.append(_picture(suite.name, picture, base))
    return '\n'.join(lines)


def _picture(name: str, path: Path, base: Path) -> str:
    return f'\n![{name}]({path.relative_to(base).as_posix()})'


def _command(settings: Settings, results: Sequence[Result]) -> str:
    trials = 1 + max(result.unit.trial for result in results)
    protocol = '' if settings.protocol == HELDOUT else f' --protocol {settings.protocol}'
    warm = ' --warm-up' if settings.warm_up else ''
    run = {result.unit.method for result in results} - {RECOMMENDED}
    every = run == set(find_suite(settings.suite).methods)
    methods = '' if every else f' --methods {" ".join(sorted(run, key=rank))}'
    alone = ' --alone' if all(r.cost for r in results if r.unit.method != RECOMMENDED) else ''
    return (
        f'hetpose suite {settings.suite}{protocol}{warm}{methods}{alone} '
        f'--epochs {settings.epochs} --trials {trials} --out docs/results/{settings.suite}'
    )


def _count(suite: Suite, results: Sequence[Result]) -> str:
    present: dict[str, tuple[set[int], set[str]]] = {}
    for result in results:
        if result.unit.method != RECOMMENDED:
            trials, methods = present.setdefault(result.unit.dataset, (set(), set()))
            trials.add(result.unit.trial)
            methods.add(result.unit.method)
    parts = [
        f'{name} ({_counted(present[name][1], "method")}, {_counted(present[name][0], "trial")})'
        for name in sorted(present, key=suite.place)
    ]
    missing = [name for name in suite.datasets if name not in present]
    gap = f' Not run: {", ".join(missing)}.' if missing else ''
    return f'Run: {", ".join(parts)}.{gap}'


def _counted(things: Sized, name: str) -> str:
    return f'{len(things)} {name}{"" if len(things) == 1 else "s"}'


def _metric_table(suite: Suite, table: Table, metric: str) -> str:
    methods = {m for metrics in table.values() for m in metrics.get(metric, {})}
    names = sorted(methods, key=rank)
    datasets = sorted(table, key=suite.place)
    rows = [
        [name, *(cell(table[d].get(metric, {}).get(name)) for d in datasets)] for name in names
    ]
    return markdown_table(['method', *datasets], rows)


def _cost_table(suite: Suite, table: Table) -> str:
    methods = {m for metrics in table.values() for m in metrics.get('time_ms', {})}
    datasets = sorted(table, key=suite.place)
    published = paper.compute()['time_ms']
    rows = []
    for name in sorted(methods, key=rank):
        row = [name]
        for dataset in datasets:
            mine = table[dataset].get('time_ms', {}).get(name)
            theirs = published.get(name, {}).get(int(dataset[1:]))
            row.append('–' if mine is None else f'{mine.mean:.1f}')
            row.append('' if theirs is None else f'{theirs:.0f}')
        rows.append(row)
    header = [text for d in datasets for text in (f'{d}, ms/step', 'paper')]
    return markdown_table(['method', *header], rows)


def _paper_table(suite: Suite, results: Sequence[Result]) -> str:
    table, published = tabulate(suite, results), paper.uci()
    methods = sorted({result.unit.method for result in results}, key=rank)
    rows = []
    for dataset in sorted(table, key=suite.place):
        for method in methods:
            row = [dataset, method]
            for metric in suite.metrics:
                mine = table[dataset].get(metric, {}).get(method)
                theirs = published.get((dataset, method, metric))
                row += [plain(mine), '' if theirs is None else f'{theirs.mean:.2f}']
            rows.append(row)
    header = [text for metric in suite.metrics for text in (TITLES[metric], 'paper')]
    return markdown_table(['set', 'method', *header], rows)
