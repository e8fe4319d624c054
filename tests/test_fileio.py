"""A file is whole or absent."""

import json
import stat
from pathlib import Path

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
