from pathlib import Path

import numpy as np
import pytest

from hetpose.benchmarks import harness
from hetpose.benchmarks.harness import Comparison, Row

MEGABYTE = 2**20


def fill(megabytes):
    """A target for peak_memory: prepares nothing and fills an array."""
    return lambda: np.ones(megabytes * MEGABYTE // 8).sum()


def hold(megabytes):
    """What is held, or was freed, before the call does not count."""
    held = np.ones(megabytes * MEGABYTE // 8)
    del held
    return lambda: None


class Clock:
    """A clock that only moves when it is told to, so that no load of the machine is measured."""

    def __init__(self, monkeypatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(harness.time, 'perf_counter', lambda: self.now)

    def passes(self, seconds):
        """A call that takes this long."""

        def call():
            self.now += seconds

        return call


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_ratio_says_how_many_times_faster_ours_is():
    assert Comparison(ours=0.5, reference=2.0).ratio == 4


def test_pairs_are_compared_by_the_median_of_their_ratios(monkeypatch):
    clock = Clock(monkeypatch)
    monkeypatch.setattr(harness.time, 'process_time', lambda: clock.now)
    speeds = iter([1, 1, 1, 1, 1, 7, 1, 1, 1, 1])  # one spell that is slow for a side only

    def takes(seconds):
        return lambda: clock.passes(seconds * next(speeds))()

    found = harness.compare_pairs(takes(3.0), takes(2.0), repeats=5, warm_up=0)
    assert found.ratio == pytest.approx(1.5)
    assert found.ours == pytest.approx(3)
    assert found.error == pytest.approx(0)


def test_sides_are_called_in_turn(monkeypatch):
    monkeypatch.setattr(harness, 'SHORTEST_TURN', 0)
    calls = []
    sides = {name: lambda name=name: calls.append(name) for name in ('a', 'b')}
    harness.interleave(sides, repeats=3, warm_up=1)
    assert calls == ['a', 'b'] * 4


def test_a_turn_of_a_short_call_is_several(clock):
    calls = []
    lengths = {'short': harness.SHORTEST_TURN / 8, 'long': 2 * harness.SHORTEST_TURN}

    def side(name):
        passes = clock.passes(lengths[name])
        return lambda: (calls.append(name), passes())

    times = harness.interleave({name: side(name) for name in lengths}, repeats=2)
    assert calls == ['short', 'long'] + 2 * (8 * ['short'] + ['long'])
    assert times == pytest.approx(lengths)


def test_one_slow_spell_does_not_move_the_median(clock):
    spells = iter([1.0, 1.0, 100.0, 1.0])  # the first warms up

    def ours():
        clock.now += next(spells)

    found = harness.compare(ours, clock.passes(3.0), repeats=3)
    assert found == Comparison(ours=1.0, reference=3.0)
    with pytest.raises(ValueError, match='repeats'):
        harness.compare(lambda: None, lambda: None, repeats=0)


@pytest.mark.slow
def test_peak_is_that_of_the_call_alone(monkeypatch):
    """In a process of its own: here, what other tests freed would be taken again."""
    monkeypatch.setenv('PYTHONPATH', str(Path(__file__).parent))
    assert 50 * MEGABYTE < harness.peak_memory('test_harness:fill', 64) < 80 * MEGABYTE
    assert harness.peak_memory('test_harness:hold', 64) < 16 * MEGABYTE
    with pytest.raises(RuntimeError, match='no_such_function'):
        harness.peak_memory('test_harness:no_such_function')


def test_the_table_shows_every_metric_and_verdict():
    rows = [
        Row('one', {'time ratio': 12.345}, '>= 10x', True),
        Row('two', {'error': 'none'}, '', None),
        Row('three', {'time ratio': 1e-7}, '>= 10x', False),
    ]
    lines = harness.format_table(rows).splitlines()
    assert lines[0].split() == ['time', 'ratio', 'error', 'required']
    assert lines[1].split() == ['one', '12.3', '>=', '10x', 'pass']
    assert lines[2].split() == ['two', 'none', '-']
    assert lines[3].endswith('FAIL')
    assert rows[0].as_dict()['metrics'] == {'time ratio': 12.345}
