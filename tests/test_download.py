"""A download is whole and checked, or absent."""

from pathlib import Path

import pytest

from hetpose.download import checksum, download
from hetpose.errors import UserError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / 'source.bin'
    path.write_bytes(bytes(range(256)) * 20)
    return path


def test_a_file_arrives_whole(source: Path, tmp_path: Path) -> None:
    target = tmp_path / 'new' / 'target.bin'
    download(source.as_uri(), target, checksum(source), lambda path: path.stat().st_size == 5120)
    assert target.read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        (dict(sha256='0' * 64), 'SHA-256 is .*, expected 0000'),
        (dict(check=lambda path: False), 'is not a file of the kind that was expected'),
        (dict(url='file:///nowhere/x.zip'), 'cannot download .*; fetch it by hand to .*target'),
    ],
    ids=['checksum', 'kind', 'absent'],
)
def test_what_is_wrong_is_named_and_nothing_is_left(source, tmp_path, settings, message) -> None:
    folder = tmp_path / 'folder'
    with pytest.raises(UserError, match=message):
        download(**{'url': source.as_uri(), 'path': folder / 'target.bin', **settings})
    assert not list(folder.iterdir())
