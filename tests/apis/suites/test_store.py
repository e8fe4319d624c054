"""A stored unit reads back equal, and JSON stays JSON."""

import json
import math

import pytest

from hetpose.apis.suites.plan import Settings, Unit
from hetpose.apis.suites.store import DIVERGED, Result, groups, load, load_all, save, unit_path
from hetpose.errors import UserError

SETTINGS = Settings('uci', 'heldout', 2)


def result(method='nll', trial=0, **kwargs):
    return Result(Unit('air', method, trial), SETTINGS, 'digest', **kwargs)


def test_round_trip(tmp_path):
    stored = result(metrics={'nll': 1.5}, curve=[{'epoch': 1, 'nll': 2.0}], extra={'fit': [1]})
    save(tmp_path, stored)
    assert load(unit_path(tmp_path, stored.unit)) == stored


def test_non_finite_numbers_become_null(tmp_path):
    stored = result(metrics={'nll': math.nan}, curve=[{'epoch': 1, 'mse': math.inf}])
    save(tmp_path, stored)
    text = unit_path(tmp_path, stored.unit).read_text()
    assert json.loads(text, parse_constant=pytest.fail)['metrics'] == {'nll': None}


def test_a_diverged_unit_is_infinitely_bad():
    assert result(status=DIVERGED).metric('nll') == math.inf
    assert result().metric('nll') is None


def test_groups_and_order(tmp_path):
    for method in ('w2', 'nll'):
        save(tmp_path / SETTINGS.folder, result(method))
    assert groups(tmp_path) == groups(tmp_path / SETTINGS.folder) == [tmp_path / SETTINGS.folder]
    assert [r.unit.method for r in load_all(tmp_path / SETTINGS.folder)] == ['nll', 'w2']


def test_errors_name_the_file(tmp_path):
    with pytest.raises(UserError, match='no stored units'):
        groups(tmp_path)
    path = tmp_path / 'units' / 'air' / 'nll-0.json'
    path.parent.mkdir(parents=True)
    path.write_text('{"half": ')
    with pytest.raises(UserError, match='nll-0.json is not a stored unit'):
        load_all(tmp_path)


def test_what_a_kill_left_half_written_is_no_unit(tmp_path):
    save(tmp_path, result())
    whole = unit_path(tmp_path, result().unit)
    whole.with_name('.nll-1-0123abcd.tmp.json').write_text('{"unit":')
    assert load_all(tmp_path) == [result()]
