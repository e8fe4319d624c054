import time
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


def test_ratio_says_how_many_times_faster_ours_is():
    assert Comparison(ours=0.5, reference=2.0).ratio == 4


def test_sides_are_called_in_turn(monkeypatch):
    monkeypatch.setattr(harness, 'SHORTEST_TURN', 0)
    calls = []
    sides = {name: lambda name=name: calls.append(name) for name in ('a', 'b')}
    harness.interleave(sides, repeats=3, warm_up=1)
    assert calls == ['a', 'b'] * 4


def test_a_turn_of_a_short_call_is_several():
    calls = {'short': 0, 'long': 0}

    def short():
        calls['short'] += 1

    def long():
        calls['long'] += 1
        time.sleep(2 * harness.SHORTEST_TURN)

    times = harness.interleave({'short': short, 'long': long}, repeats=2)
    assert calls['long'] == 3
    assert calls['short'] > 10
    assert times['long'] > harness.SHORTEST_TURN > times['short']


def test_medians_order_what_is_slow_and_what_is_fast():
    found = harness.compare(lambda: None, lambda: time.sleep(0.002), repeats=5)
    assert found.reference > found.ours
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
