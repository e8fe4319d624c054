"""One run at a time in a folder; the lock of a dead process is free."""

import subprocess
import sys
from pathlib import Path

import pytest

from hetpose.engine.lock import locked
from hetpose.errors import UserError

pytest.importorskip('fcntl')
HOLD = """
import sys, time
from hetpose.engine.lock import locked
with locked(sys.argv[1]):
    print('held', flush=True)
    time.sleep(600)
"""


def test_a_folder_is_held_once(tmp_path: Path) -> None:
    with locked(tmp_path / 'run'):
        with pytest.raises(UserError, match=r'in use by process'), locked(tmp_path / 'run'):
            pass
        with locked(tmp_path / 'other'):
            pass
    with locked(tmp_path / 'run'):
        pass


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, '-c', HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == 'held\n'
        with pytest.raises(UserError, match=f'process {child.pid}'), locked(tmp_path):
            pass
    finally:
        child.kill()
        child.wait()
    with locked(tmp_path):
        pass


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(UserError, match='cannot write to'), locked(tmp_path / 'file' / 'run'):
        pass
