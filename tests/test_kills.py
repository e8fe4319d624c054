"""A run that is killed at random moments loses nothing; see kill_harness.py."""

import os
import sys
from pathlib import Path

import pytest
from kill_harness import soak

pytestmark = [
    pytest.mark.skipif(sys.platform != 'linux', reason='looks at /proc'),
    pytest.mark.filterwarnings('ignore::DeprecationWarning'),  # Python 3.12 warns of every fork
]


def test_two_kills(tmp_path: Path) -> None:
    figures = soak(tmp_path, kills=2, workers=0)
    assert (figures['kills'], figures['faults'], figures['orphans']) == (2, [], 0)


@pytest.mark.skipif('HETPOSE_SOAK' not in os.environ, reason='a long run; set HETPOSE_SOAK=1')
@pytest.mark.parametrize('workers', [0, 2])
def test_many_kills(tmp_path: Path, workers: int) -> None:
    figures = soak(tmp_path, kills=25, workers=workers, seed=1)
    assert figures['kills'] == 25
    assert not figures['faults']
    assert not figures['orphans']
