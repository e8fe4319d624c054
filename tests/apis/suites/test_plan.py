"""Units follow from a choice; unknown names list the known ones."""

import pytest

from hetpose.apis.suites.plan import BASELINE, SUITES, Settings, find_suite, plan_units
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
        ({'methods': ['gp']}, "unknown uci method 'gp'; known: anchored, anchored_student"),
        ({'datasets': ['wine']}, "unknown uci dataset 'wine'; known: abalone, air"),
        ({'methods': ['natural']}, "unknown uci method 'natural'"),
        ({'trials': 0}, '--trials must be at least 1'),
    ],
)
def test_bad_choices(arguments, message):
    with pytest.raises(UserError, match=message):
        plan_units(SUITES['uci'], settings(), **arguments)


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
