"""A unit through the Runner: equal starts, recorded failures, the same numbers for any --jobs."""

import re

import numpy as np
import pytest
import torch
from helpers_suite import write_table
from mmengine.hooks import Hook

from hetpose.apis.suites import execute
from hetpose.apis.suites.execute import (
    config_digest,
    file_digest,
    method_config,
    run_stack,
    run_unit,
    unit_config,
)
from hetpose.apis.suites.plan import SUITES, Given, Settings, Unit
from hetpose.apis.suites.run import rebuild_reports, run_suite
from hetpose.apis.suites.store import load_all
from hetpose.engine.launch import build_runner
from hetpose.engine.suite import resolve
from hetpose.errors import UserError
from hetpose.paths import config_root

SETTINGS = Settings('uci', 'heldout', 1)
ROWS, COLUMNS = 200, 6


@pytest.fixture
def data(tmp_path):
    """A folder with a small ``concrete.csv`` whose noise varies with the first column."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((ROWS, COLUMNS))
    table[:, 1:] = table[:, :1] + np.abs(table[:, :1]) * table[:, 1:]
    folder = tmp_path / 'data'
    folder.mkdir()
    header = ','.join(f'c{i}' for i in range(COLUMNS))
    np.savetxt(folder / 'concrete.csv', table, delimiter=',', header=header, comments='')
    return Given(str(folder))


def batches(runner):
    return [(batch['x'].clone(), batch['y'].clone()) for batch in runner.train_dataloader]


def test_methods_of_a_trial_share_weights_batches_and_columns(tmp_path, data):
    reference = None
    for method in SUITES['uci'].methods:
        settings = Settings('uci', 'heldout', 2)
        config = unit_config(Unit('concrete', method, 3), settings, tmp_path / method, data)
        runner = build_runner(config)
        networks = {
            f'{name}.{key}': value
            for name in ('mean_network', 'covariance_network')
            for key, value in getattr(runner.model, name).state_dict().items()
        }
        runner._train_dataloader = runner.build_dataloader(
            runner._train_dataloader, seed=runner.seed
        )
        seen = networks, batches(runner)
        if reference is None:
            reference = seen
            continue
        assert networks.keys() == reference[0].keys()
        for key, value in networks.items():
            assert torch.equal(value, reference[0][key]), (method, key)
        for ours, theirs in zip(seen[1], reference[1], strict=True):
            assert torch.equal(ours[0], theirs[0]), method
            assert torch.equal(ours[1], theirs[1]), method


def test_trials_differ(tmp_path, data):
    first, second = (
        build_runner(unit_config(Unit('concrete', 'nll', t), SETTINGS, tmp_path / str(t), data))
        for t in (0, 1)
    )
    pairs = zip(first.model.parameters(), second.model.parameters(), strict=True)
    assert any(not torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(
        first.build_dataloader(first._test_dataloader).dataset.arrays.x,
        second.build_dataloader(second._test_dataloader).dataset.arrays.x,
    )


def test_a_unit_gives_metrics_curve_cost_and_progress(tmp_path, data):
    calls = []
    settings = Settings('uci', 'heldout', 2)
    unit = Unit('concrete', 'anchored', 0)  # trains for twice the epochs
    result = run_unit(unit, settings, 'x', tmp_path, data, lambda: calls.append(1))
    assert result.status == 'done'
    assert {'mse', 'nll', 'tac'} <= set(result.metrics)
    assert set(result.cost) == {'time_ms', 'memory_mb'}
    assert [point['epoch'] for point in result.curve] == [1, 2, 3, 4]
    assert len(calls) == settings.epochs


def test_units_that_train_together_give_the_numbers_of_those_that_train_alone(tmp_path, data):
    settings = Settings('uci', 'heldout', 2)
    units = [Unit('concrete', m, t) for t in range(2) for m in ('mse', 'w2_bound', 'anchored')]
    digests = {unit.kind: unit.method for unit in units}
    together = run_stack(units, settings, digests, tmp_path / 'a', data)
    for unit, result in zip(units, together, strict=True):
        alone = run_unit(unit, settings, unit.method, tmp_path / 'b', data)
        assert (result.unit, result.digest) == (unit, unit.method)
        assert result.metrics == pytest.approx(alone.metrics, rel=1e-2, abs=1e-2), unit.name
        assert [point.keys() for point in result.curve] == [p.keys() for p in alone.curve]
        assert alone.cost['time_ms'] > 0
        assert not result.cost, 'a step of many has no cost of one'


def test_a_numerical_failure_is_a_result(tmp_path, data, monkeypatch):
    def hopeless(*arguments):
        config = method_config(*arguments)
        config.optim_wrapper.optimizer.lr = 1e30
        return config

    monkeypatch.setattr(execute, 'method_config', hopeless)
    result = run_unit(Unit('concrete', 'nll', 0), SETTINGS, 'x', tmp_path, data)
    assert result.status == 'diverged'
    assert result.divergence['step'] >= 0
    assert result.divergence['reason']


def test_weights_that_break_in_the_last_step_of_an_epoch_are_a_result(tmp_path, data, monkeypatch):
    def breaking(config):
        runner = build_runner(config)

        class Break(Hook):
            priority = 'VERY_HIGH'

            def after_train_epoch(self, runner) -> None:
                torch.nn.init.constant_(next(runner.model.parameters()), float('nan'))

        runner.register_hook(Break())
        return runner

    monkeypatch.setattr(execute, 'build_runner', breaking)
    result = run_unit(Unit('concrete', 'nll', 0), SETTINGS, 'x', tmp_path, data)
    assert result.status == 'diverged'
    assert 'NaN' in result.divergence['reason']


def test_digest_follows_every_setting(tmp_path):
    write_table(tmp_path / 'concrete.csv')
    given = Given(str(tmp_path))
    digests = {
        config_digest('concrete', 'nll', settings, given)
        for settings in (
            SETTINGS,
            Settings('uci', 'heldout', 2),
            Settings('uci', 'paper', 1),
            Settings('uci', 'heldout', 4, warm_up=True),
            Settings('multivariate', 'heldout', 1),
        )
    }
    assert len(digests) == 5
    assert config_digest('concrete', 'nll', SETTINGS, given) in digests


def test_digest_follows_data_and_code_but_not_their_place(tmp_path, monkeypatch):
    here, there = tmp_path / 'here', tmp_path / 'there'
    for folder in (here, there):
        folder.mkdir()
        write_table(folder / 'concrete.csv')
    known = config_digest('concrete', 'nll', SETTINGS, Given(str(here)))
    assert config_digest('concrete', 'nll', SETTINGS, Given(str(there))) == known
    write_table(there / 'concrete.csv', rows=121)
    file_digest.cache_clear()
    assert config_digest('concrete', 'nll', SETTINGS, Given(str(there))) != known
    monkeypatch.setattr(execute, 'RESULTS_VERSION', execute.RESULTS_VERSION + 1)
    assert config_digest('concrete', 'nll', SETTINGS, Given(str(here))) != known


def test_a_method_and_a_table_of_ones_own_need_no_line_of_the_package(tmp_path):
    table = write_table(tmp_path / 'mine.csv')
    method = tmp_path / 'gentle.py'
    base = config_root() / 'uci' / 'nll.py'
    method.write_text(f'_base_ = [{str(base)!r}]\nfloor = 0.5\n')
    given = Given(tables=(str(table),), targets=('column1', 'column2'), methods=(str(method),))
    folder, text = run_suite('uci', tmp_path / 'out', methods=['nll'], given=given, epochs=1,
                             trials=1)  # fmt: skip
    assert {r.unit.kind for r in load_all(folder)} == {
        ('mine', 'nll'), ('mine', 'gentle'), ('mine', 'homoscedastic')
    }  # fmt: skip
    assert '## mine' in text
    assert 'gentle' in text
    assert list((folder / 'plots').glob('*mine*'))


@pytest.mark.parametrize('suite', SUITES.values(), ids=lambda suite: suite.name)
def test_every_method_has_a_config(suite):
    settings = Settings(suite.name, suite.protocols[0], 4, warm_up=True)
    for method in suite.methods:
        assert method_config(method, settings).epochs == 4


@pytest.mark.parametrize('method', SUITES['univariate'].methods)
def test_a_warm_up_leaves_out_the_methods_that_cannot_have_one(method, tmp_path):
    settings = Settings('univariate', SUITES['univariate'].protocols[0], 4, warm_up=True)
    dataset = SUITES['univariate'].datasets[0]
    config = resolve(unit_config(Unit(dataset, method, 0), settings, tmp_path, None))
    if method == 'natural':
        assert config.model.covariance.type == 'NaturalCovariance'
    else:
        assert config.model.objective.type == 'MSEObjective'


def test_two_jobs_give_the_numbers_of_one(tmp_path, data, capsys):
    def run(name, jobs):
        folder, text = run_suite(
            'uci', tmp_path / name, methods=['w2_bound'], datasets=['concrete'],
            trials=1, epochs=1, jobs=jobs, given=data,
        )  # fmt: skip
        return folder, text, {r.unit: (r.metrics, r.curve) for r in load_all(folder)}

    _, _, one = run('one', 1)
    folder, text, two = run('two', 2)
    assert len(one) == 2  # the homoscedastic baseline comes along
    assert [_without_cost(v) for v in one.values()] == [_without_cost(v) for v in two.values()]
    assert re.search(r'\| homoscedastic \|', text)
    (folder / 'report.md').unlink()
    assert rebuild_reports(tmp_path / 'two') == [(folder, text)]
    assert (folder / 'report.md').read_text() == text


def _without_cost(value):
    metrics, curve = value
    keep = ('mse', 'nll', 'tac', 'epoch')
    return {k: metrics[k] for k in keep if k in metrics}, [
        {k: p[k] for k in keep if k in p} for p in curve
    ]


def test_missing_data_names_the_file(tmp_path):
    with pytest.raises(UserError, match=re.escape(str(tmp_path / 'concrete.csv'))):
        run_unit(Unit('concrete', 'nll', 0), SETTINGS, 'x', tmp_path, Given(str(tmp_path)))
