"""A call to run a suite refuses bad arguments before anything runs."""

import pytest
from helpers_suite import write_table

from hetpose import apis
from hetpose.apis.suites import run
from hetpose.apis.suites.plan import Given
from hetpose.errors import UserError


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (dict(name='uzi'), "unknown suite 'uzi'"),
        (dict(name='uci', jobs=0), '--jobs must be at least 1, got 0'),
        (dict(name='uci', methods=['nl']), "unknown uci method 'nl'; known: anchored"),
    ],
)
def test_bad_input_is_named(tmp_path, options, message) -> None:
    with pytest.raises(UserError, match=message):
        apis.run_suite(out=tmp_path, **options)
    assert not list(tmp_path.iterdir())


def test_alone_no_units_train_together(tmp_path, monkeypatch) -> None:
    table = write_table(tmp_path / 'table.csv')
    planned = {}

    def noted(execute, units, settings, folder, digests, given, jobs, stacks) -> None:
        planned['stacks'] = None if stacks is None else stacks(units)
        raise UserError('planned')

    monkeypatch.setattr(run, 'run_units', noted)
    options = dict(methods=['mse', 'w2_bound'], trials=2, given=Given(tables=(str(table),)))
    with pytest.raises(UserError, match='planned'):
        apis.run_suite('uci', tmp_path, **options)
    assert [len(stack) for stack in planned['stacks']] == [6], 'with the baseline, in two trials'
    with pytest.raises(UserError, match='planned'):
        apis.run_suite('uci', tmp_path, **options, alone=True)
    assert planned['stacks'] is None
