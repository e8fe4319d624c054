"""The recommended method is chosen on validation data alone."""

import pytest

from hetpose.apis.suites.plan import Settings, Unit
from hetpose.apis.suites.recommended import CANDIDATES, RECOMMENDED, with_recommended
from hetpose.apis.suites.store import DIVERGED, DONE, Result

SETTINGS = Settings('uci', 'heldout', 2)


def result(method, trial=0, validation=0.0, test=0.0, settings=SETTINGS, **kwargs) -> Result:
    return Result(
        Unit('air', method, trial), settings, 'x', metrics={'nll': test},
        validation={'nll': validation}, **kwargs,
    )  # fmt: skip


def chosen(results) -> dict[int, float]:
    return {
        r.unit.trial: r.metrics['nll']
        for r in with_recommended(results)
        if r.unit.method == RECOMMENDED
    }


@pytest.mark.parametrize('better', CANDIDATES)
def test_the_lower_validation_nll_wins_whatever_the_test_says(better) -> None:
    results = [
        result(
            name, validation=1.0 if name == better else 2.0, test=9.0 if name == better else 0.0
        )
        for name in CANDIDATES
    ]
    assert chosen(results) == {0: 9.0}


def test_every_trial_chooses_for_itself() -> None:
    first, second = CANDIDATES
    results = [
        result(first, 0, validation=1.0, test=10.0), result(second, 0, validation=2.0, test=20.0),
        result(first, 1, validation=2.0, test=30.0), result(second, 1, validation=1.0, test=40.0),
        result(first, 2, validation=0.0),
    ]  # fmt: skip
    assert chosen(results) == {0: 10.0, 1: 40.0}, 'a trial without both candidates has none'


@pytest.mark.parametrize('broken', CANDIDATES)
def test_a_diverged_candidate_loses_its_trial_and_not_the_hard_trial_its_place(broken) -> None:
    results = [
        result(name, test=7.0, **({'status': DIVERGED} if name == broken else {}))
        for name in CANDIDATES
    ]
    assert chosen(results) == {0: 7.0}
    assert with_recommended(results)[-1].status == DONE


def test_where_all_candidates_diverged_the_recommended_one_has() -> None:
    results = [result(name, status=DIVERGED, divergence={'step': 3}) for name in CANDIDATES]
    found = with_recommended(results)[-1]
    assert (found.unit.method, found.status) == (RECOMMENDED, DIVERGED)
    assert found.divergence is None, 'the candidates tell where'


def test_the_paper_protocol_chooses_nothing() -> None:
    on_training_data = Settings('uci', 'paper', 2)
    assert chosen([result(name, settings=on_training_data) for name in CANDIDATES]) == {}


def test_a_variant_that_is_stored_elsewhere_can_be_chosen_but_is_no_result() -> None:
    results = [result(name, validation=2.0, test=1.0) for name in CANDIDATES]
    better = result(f'{CANDIDATES[1]}-prior', validation=1.0, test=7.0)
    foreign = result('w2-other', validation=0.0, test=8.0)
    found = with_recommended(results, [better, foreign])
    assert [r.unit.method for r in found] == [*CANDIDATES, RECOMMENDED]
    assert found[-1].metrics['nll'] == 7.0
    assert chosen([better, result(CANDIDATES[0])]) == {}, 'a variant is no candidate'
