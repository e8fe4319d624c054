"""Means over trials, the winner, and its ties."""

import math

import pytest

from hetpose.apis.suites.statistics import summarise, tied


def trials(*values):
    return dict(enumerate(values))


def test_mean_and_sample_deviation():
    summary = summarise({'a': trials(1.0, 2.0, 3.0)})['a']
    assert (summary.mean, summary.std, summary.count) == (2.0, 1.0, 3)


def test_the_pairing_tells_apart_what_the_spread_hides():
    """The same shift in every trial is significant although the trials differ much more."""
    base = [1.0, 5.0, 9.0, 13.0]
    shifted = [v + 0.1 + 0.001 * i for i, v in enumerate(base)]
    assert not tied(trials(*base), trials(*shifted))
    spread = [v + (-1) ** i * 0.1 for i, v in enumerate(base)]
    assert tied(trials(*base), trials(*spread))


def test_best_and_tied_are_marked():
    summaries = summarise(
        {
            'best': trials(1.0, 1.1, 0.9, 1.05),
            'near': trials(1.05, 1.0, 1.0, 1.04),
            'far': trials(2.0, 2.1, 1.9, 2.2),
        }
    )
    assert {m: s.best for m, s in summaries.items()} == {'best': True, 'near': True, 'far': False}


def test_a_diverged_trial_cannot_win():
    summaries = summarise({'broken': trials(0.1, math.inf), 'sound': trials(1.0, 1.1)})
    assert summaries['sound'].best
    assert not summaries['broken'].best
    assert (summaries['broken'].count, summaries['broken'].diverged) == (1, 1)
    assert summaries['broken'].mean == pytest.approx(0.1)


def test_a_method_that_misses_a_trial_cannot_win():
    """The one trial that it has is the easy one; on that the other is better."""
    summaries = summarise({'few': {0: 1.2}, 'all': trials(1.0, 3.0, 3.1)})
    assert summaries['all'].best
    assert not summaries['few'].best
    assert (summaries['few'].missing, summaries['all'].missing) == (2, 0)


def test_all_diverged():
    summary = summarise({'a': trials(math.inf, math.inf)})['a']
    assert (summary.count, summary.diverged, summary.best) == (0, 2, False)


def test_one_trial_has_one_winner():
    summaries = summarise({'a': trials(1.0), 'b': trials(1.0001)})
    assert summaries['a'].best
    assert not summaries['b'].best


def test_two_trials_are_too_few_for_a_tie():
    """A t-test with one degree of freedom would tie a method with one ten times as good."""
    summaries = summarise({'a': trials(1.0, 3.0), 'b': trials(10.0, 30.0), 'c': trials(3.0, 1.0)})
    assert {m: s.best for m, s in summaries.items()} == {'a': True, 'b': False, 'c': True}
    more = summarise({'a': trials(1.0, 3.0, 2.0), 'b': trials(10.0, 30.0, 5.0)})
    assert more['b'].best


def test_constant_differences_are_decided_without_a_division_by_zero():
    assert tied(trials(1.0, 2.0, 4.0), trials(1.0, 2.0, 4.0))
    assert not tied(trials(1.0, 2.0, 4.0), trials(1.5, 2.5, 4.5))
