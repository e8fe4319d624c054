"""Units follow from a choice; unknown names list the known ones."""

import pytest

from hetpose.apis.suites.plan import (
    BASELINE,
    MOST_TRIALS,
    SUITES,
    Given,
    Settings,
    find_suite,
    known_variants,
    method_file,
    plan_stacks,
    plan_units,
)
from hetpose.errors import UserError
from hetpose.paths import config_root


def settings(suite='uci', protocol='heldout', epochs=3):
    return Settings(suite, protocol, epochs)


def test_every_combination_once_trial_by_trial():
    units = plan_units(SUITES['uci'], settings(), ['nll', BASELINE, 'nll'], ['air', 'gas'], 2)
    assert len(units) == len(set(units)) == 2 * 2 * 2
    assert [u.trial for u in units] == [0] * 4 + [1] * 4


def test_heldout_always_has_the_baseline_and_paper_only_what_was_asked():
    chosen = (SUITES['uci'], ['w2'], ['air'], 1)
    heldout = plan_units(chosen[0], settings(), *chosen[1:])
    paper = plan_units(chosen[0], settings(protocol='paper'), *chosen[1:])
    assert [u.method for u in heldout] == ['w2', BASELINE]
    assert [u.method for u in paper] == ['w2']


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'methods': ['gp']}, "unknown uci method 'gp'; known: anchored, anchored-floor_1e-2, "),
        ({'datasets': ['wine']}, "unknown uci dataset 'wine'; known: abalone, air"),
        ({'methods': ['natural']}, "unknown uci method 'natural'"),
        ({'trials': 0}, '--trials must be at least 1'),
    ],
)
def test_bad_choices(arguments, message):
    with pytest.raises(UserError, match=message):
        plan_units(SUITES['uci'], settings(), **arguments)


def test_tables_of_ones_own_come_on_top_of_named_sets_and_stand_for_all_else():
    given = Given(tables=('/somewhere/mine.csv',))
    for named, planned in ((None, {'mine'}), (['air'], {'air', 'mine'}), (['mine'], {'mine'})):
        units = plan_units(SUITES['uci'], settings(), ['nll'], named, 1, given)
        assert {unit.dataset for unit in units} == planned


@pytest.mark.parametrize(
    'given', [Given(tables=('x/concrete.csv',)), Given(methods=('x/nll.py',))]
)
def test_a_file_with_a_name_of_the_suite_is_refused(given):
    """The report would set the published numbers beside it."""
    with pytest.raises(UserError, match='is a name of the suite itself; rename the file'):
        plan_units(SUITES['uci'], settings(), ['mse'], None, 1, given)


def test_bad_epochs_protocol_and_suite():
    with pytest.raises(UserError, match='--epochs must be at least 1'):
        plan_units(SUITES['uci'], settings(epochs=0))
    with pytest.raises(UserError, match='unknown bivariate protocol'):
        plan_units(SUITES['bivariate'], settings('bivariate', 'heldout'))
    with pytest.raises(UserError, match="unknown suite 'mnist'; known: bivariate"):
        find_suite('mnist')


def test_settings_never_share_a_folder():
    variants = [
        Settings('uci', protocol, epochs, warm_up)
        for protocol in ('heldout', 'paper')
        for epochs in (20, 100)
        for warm_up in (False, True)
    ]
    assert len({v.folder for v in variants}) == len(variants)


@pytest.mark.parametrize('suite', list(SUITES))
def test_every_leaf_is_a_method_and_every_method_a_leaf(suite: str) -> None:
    leaves = {path.stem for path in (config_root() / suite).glob('*.py')}
    assert leaves == set(SUITES[suite].methods)


def test_stacks_hold_every_unit_once_and_one_shape_each() -> None:
    suite = SUITES['uci']
    settings = Settings('uci', 'heldout', 100)
    units = plan_units(suite, settings, datasets=['energy', 'air', 'parkinson'], trials=7)
    widths = {'energy': 66, 'air': 146, 'parkinson': 402}
    sharing = ['mse', 'homoscedastic', 'w2_bound']
    stacks = plan_stacks(suite, units, sharing, widths)
    assert sorted(unit.name for stack in stacks for unit in stack) == sorted(u.name for u in units)
    for stack in stacks:
        assert len({unit.dataset for unit in stack}) == 1
        assert len({unit.trial for unit in stack}) <= MOST_TRIALS
        methods = {unit.method for unit in stack}
        together = methods <= set(sharing)
        assert together or not methods & set(sharing)
        if stack[0].dataset == 'parkinson':
            assert len({unit.trial for unit in stack}) == 1, 'wide networks train trial by trial'
        if stack[0].dataset != 'energy' and not together:
            assert len(methods) == 1
        if together:
            assert methods == set(sharing)


def test_datasets_of_one_shape_train_together() -> None:
    suite = SUITES['univariate']
    units = plan_units(suite, Settings('univariate', 'heldout', 100), methods=['nll'])
    nll = [unit for unit in units if unit.method == 'nll']
    assert plan_stacks(suite, nll, [], dict.fromkeys(suite.datasets, 50)) == [nll]


@pytest.mark.parametrize('suite', list(SUITES))
def test_variants_run_only_where_they_are_named(suite: str) -> None:
    chosen = settings(suite, SUITES[suite].protocols[0])
    assert not {unit.method for unit in plan_units(SUITES[suite], chosen)} & set(
        known_variants(suite)
    )
    for name in known_variants(suite):
        planned = plan_units(SUITES[suite], chosen, [name], trials=1)
        assert name in {unit.method for unit in planned}
        assert method_file(suite, name).is_file()
    with pytest.raises(UserError, match="'anchored-no_prio'"):
        plan_units(SUITES[suite], chosen, ['anchored-no_prio'])
