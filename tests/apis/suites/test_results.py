"""The document has the numbers of the units, and other documents quote its numbers."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from hetpose import apis
from hetpose.apis.suites.goal import PAPER_METHODS, best_of_paper, goal_met
from hetpose.apis.suites.plan import Settings, Unit
from hetpose.apis.suites.results import BLOCK, headline_tables, stored_groups, with_blocks
from hetpose.apis.suites.statistics import Summary
from hetpose.apis.suites.store import Result, save
from hetpose.errors import UserError

ROOT = Path(__file__).parents[3]
HELDOUT = Settings('uci', 'heldout', 100)
NLL = {'homoscedastic': 5.0, 'nll': 7.0, 'w2_bound': 4.5, 'anchored': 4.0, 'anchored_student': 3.0}


ALL = dict.fromkeys(PAPER_METHODS, 8.0) | NLL


def store(
    folder: Path,
    settings: Settings = HELDOUT,
    dataset: str = 'air',
    trained: Mapping[str, float] = NLL,
) -> None:
    for method, nll in {'mse': None, **trained}.items():
        metrics = {'mse': 0.5} if nll is None else {'mse': 0.5, 'nll': nll, 'tac': nll / 10}
        made = {'seconds': 36.0, 'machine': 'Abacus', 'torch': '2.13.0'}
        kept = {'nll': nll} if nll is not None else {}
        for trial in range(2):
            unit = Unit(dataset, method, trial)
            result = Result(unit, settings, 'x', metrics=metrics, validation=kept, made=made)
            save(folder / settings.suite / settings.folder, result)


def test_the_document_names_numbers_gaps_commands_and_the_goal(tmp_path) -> None:
    store(tmp_path / 'results')
    (tmp_path / 'results' / 'findings.md').write_text('## Findings\n\nPlain words.\n')
    text = apis.write_results(tmp_path / 'results', tmp_path / 'results.md')
    assert (tmp_path / 'results.md').read_text() == text
    assert 'Plain words.' in text
    methods = 'mse homoscedastic nll w2_bound anchored anchored_student'
    options = f'--methods {methods} --epochs 100 --trials 2 --out docs/results/uci'
    assert f'hetpose suite uci {options}' in text
    assert '12 units, 0.1 hours' in text
    assert 'machine: Abacus; torch 2.13.0' in text
    assert 'Not run: abalone, ' in text
    goal = next(line for line in text.splitlines() if line.startswith('| air '))
    assert '4.500 ± 0.000 (w2_bound)' in goal
    assert goal.endswith(' – |')  # seven methods were not run
    assert 'Of 0 sets with all methods' in text
    picture = re.search(r'!\[uci\]\((\S+)\)', text)
    assert (tmp_path / picture[1]).is_file()


def test_a_goal_is_judged_where_every_rival_was_run_as_often(tmp_path) -> None:
    folder = tmp_path / 'results'
    store(folder, trained=ALL)
    text = apis.write_results(folder, tmp_path / 'results.md')
    assert 'NLL yes, TAC yes, MSE yes' in headline_tables(folder)['uci-heldout']
    assert 'Of 1 sets with all methods: NLL on 1, TAC on 1, MSE on 1.' in text
    (folder / 'uci' / HELDOUT.folder / 'units' / 'air' / 'hybrid-1.json').unlink()
    assert 'NLL yes' not in headline_tables(folder)['uci-heldout']


@pytest.mark.parametrize('cost', [{}, {'time_ms': 12.34}])
def test_costs_stand_where_units_trained_alone(tmp_path, cost) -> None:
    folder = tmp_path / 'results' / 'multivariate'
    for epochs in (2, 3):
        settings = Settings('multivariate', 'heldout', epochs)
        for method, nll in NLL.items():
            made = {'seconds': 1.0, 'torch': '2.13.0'}
            unit = Unit('d8', method, 0)
            result = Result(unit, settings, 'x', metrics={'nll': nll}, cost=cost, made=made)
            save(folder / settings.folder, result)
    text = apis.write_results(tmp_path / 'results', tmp_path / 'results.md')
    assert 'd8 (5 methods, 1 trial).' in text
    assert ('### Cost' in text) == (' --alone ' in text) == bool(cost)
    if cost:
        row = next(line for line in text.splitlines() if 'd8, ms/step' in line)
        assert row.split('|')[3].strip() == 'paper'
        rows = [line for line in text.splitlines() if line.startswith('| w2_bound ')]
        assert rows[-1].split('|')[2].strip() == '12.3'
        for name in ('heldout-2e-cost.png', 'heldout-3e-cost.png'):  # each its own picture
            assert f'(results/multivariate/{name})' in text
            assert (folder / name).is_file()


def test_a_goal_that_is_missed_is_marked() -> None:
    def summary(mean: float, diverged: int = 0) -> Summary:
        return Summary(mean, 0.0, 2, diverged)

    metrics = {
        'nll': {'homoscedastic': summary(1.0), 'nll': summary(0.2), 'recommended': summary(0.5)},
        'tac': {'homoscedastic': summary(1.0), 'nll': summary(0.9), 'recommended': summary(0.5)},
        'mse': {'mse': summary(0.4), 'recommended': summary(0.5)},
    }
    assert goal_met(metrics) == {'NLL': False, 'TAC': True, 'MSE': False}
    assert best_of_paper(metrics['nll']) == 'nll'
    assert best_of_paper({'nll': summary(0.2, diverged=1), 'kl': summary(3.0)}) == 'kl'


def test_blocks_are_filled_and_the_rest_stays(tmp_path) -> None:
    store(tmp_path)
    tables = headline_tables(tmp_path)
    text = 'a\n<!-- results: uci-heldout -->\nold\n<!-- end of results -->\nb\n'
    filled = with_blocks(text, tables)
    assert filled.startswith('a\n')
    assert filled.endswith('b\n')
    assert 'old' not in filled
    assert with_blocks(filled, tables) == filled
    assert with_blocks(text, {}) == text


def test_a_folder_without_units_is_named(tmp_path) -> None:
    with pytest.raises(UserError, match='no stored units in'):
        apis.write_results(tmp_path, tmp_path / 'results.md')


@pytest.mark.parametrize('name', ['README.md', 'docs/objectives.md'])
def test_what_documents_quote_is_what_is_stored(name) -> None:
    text = (ROOT / name).read_text(encoding='utf-8')
    tables = headline_tables(ROOT / 'docs' / 'results')
    assert with_blocks(text, tables) == text, f'run hetpose results --readme {name}'
    assert {match[2] for match in BLOCK.finditer(text)} <= set(tables)


def test_the_stored_document_is_that_of_the_stored_units(tmp_path) -> None:
    folder = ROOT / 'docs' / 'results'
    if not stored_groups(folder):
        pytest.skip('docs/results holds no unit')
    text = (ROOT / 'docs' / 'results.md').read_text(encoding='utf-8')
    for path, results in stored_groups(folder):
        assert f'## {results[0].settings.suite}, {path.name}' in text
    for table in headline_tables(folder).values():
        assert table in text, 'run hetpose results'
