"""Shipped weights are whole, or an error tells it."""

import hashlib
import json
from pathlib import Path

import pytest

from hetpose import zoo
from hetpose.errors import UserError


def test_every_shipped_file_has_its_checksum_and_every_file_is_listed() -> None:
    names = zoo.checksums()
    assert sorted(names) == sorted(path.name for path in zoo.FOLDER.glob('*.pth'))
    for name in names:
        assert zoo.shipped(name).is_file()
        assert name in (zoo.FOLDER / 'NOTICE').read_text()


def test_a_damaged_and_a_missing_file_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zoo, 'FOLDER', tmp_path)
    digest = hashlib.sha256(b'weights').hexdigest()
    (tmp_path / 'checksums.json').write_text(json.dumps({'a.pth': digest, 'b.pth': digest}))
    (tmp_path / 'a.pth').write_bytes(b'weights')
    assert zoo.shipped('a.pth') == tmp_path / 'a.pth'
    (tmp_path / 'a.pth').write_bytes(b'weighty')
    with pytest.raises(UserError, match='a.pth is damaged'):
        zoo.shipped('a.pth')
    with pytest.raises(UserError, match='b.pth cannot be read'):
        zoo.shipped('b.pth')
    with pytest.raises(UserError, match='known: a.pth, b.pth'):
        zoo.shipped('c.pth')
