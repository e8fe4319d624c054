"""A file is whole or absent."""

import errno
import json
import os
import stat
from pathlib import Path

import cv2
import numpy as np
import pytest

from hetpose import fileio
from hetpose.errors import UserError


def test_success_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / 'deep' / 'a.json'
    fileio.write_json(target, {'a': 1})
    fileio.write_json(target, {'a': 2})
    assert json.loads(target.read_text()) == {'a': 2}
    assert list(target.parent.iterdir()) == [target]


def test_failure_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / 'a.txt'
    fileio.write_text(target, 'old')

    def fail_half_way() -> None:
        with fileio.atomic_path(target) as temporary:
            temporary.write_text('half')
            raise RuntimeError

    pytest.raises(RuntimeError, fail_half_way)
    assert target.read_text() == 'old'
    assert list(tmp_path.iterdir()) == [target]


def test_what_json_cannot_hold_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        fileio.write_json(tmp_path / 'a.json', {'a': object()})
    assert not list(tmp_path.iterdir())


def test_others_may_read_it(tmp_path: Path) -> None:
    fileio.write_text(tmp_path / 'a.txt', 'x')
    (tmp_path / 'b.txt').write_text('x')
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ('a.txt', 'b.txt')}
    assert len(modes) == 1


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(UserError, match=r'cannot write .*a\.json: '):
        fileio.write_json(tmp_path / 'file' / 'a.json', {})


def test_the_content_is_on_the_disk_before_the_name(tmp_path: Path, monkeypatch) -> None:
    order: list[str] = []
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, 'fsync', lambda handle: (order.append('sync'), sync(handle))[1])
    monkeypatch.setattr(
        Path, 'replace', lambda path, to: (order.append('rename'), replace(path, to))[1]
    )
    fileio.write_text(tmp_path / 'a.txt', 'x')
    assert order == ['sync', 'rename', 'sync']


def test_the_mask_of_the_process_is_not_touched(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(os, 'umask', lambda mask: pytest.fail('threads would see it'))
    fileio.write_text(tmp_path / 'a.txt', 'x')


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    def fill() -> None:
        with fileio.atomic_path(tmp_path / 'a.npz'):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(UserError, match=r'cannot write .*a\.npz: No space left'):
        fill()
    assert not list(tmp_path.iterdir())


def test_leftovers_of_a_kill_are_known_and_removed(tmp_path: Path) -> None:
    kept = [tmp_path / name for name in ('a.json', '.hidden', '.b-12.json', 'c.tmp')]
    for path in kept:
        path.write_text('')
    with fileio.atomic_path(tmp_path / 'mse-0.json') as temporary:
        assert fileio.is_temporary(temporary)
        os.link(temporary, tmp_path / 'held')
        left = temporary
    (tmp_path / 'held').rename(left)
    fileio.remove_temporaries(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([*kept, tmp_path / 'mse-0.json'])


def test_a_picture_that_cannot_be_made_is_one_line(tmp_path: Path, monkeypatch) -> None:
    """OpenCV reports some faults by False alone."""
    image = np.zeros((4, 4, 3), np.uint8)
    with pytest.raises(UserError, match=r'cannot write .*x\.nothing'):
        fileio.write_image(tmp_path / 'x.nothing', image)
    monkeypatch.setattr(cv2, 'imencode', lambda *_: (False, None))
    with pytest.raises(UserError, match=r'cannot write .*x\.png'):
        fileio.write_image(tmp_path / 'x.png', image)
    assert list(tmp_path.iterdir()) == []
