"""An archive writes inside its folder, or nothing at all."""

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from hetpose.apis.data import archives
from hetpose.apis.data.archives import check_recorded, extract_archive, record_checksum
from hetpose.errors import UserError

OUTSIDE = ['../evil', 'a/../../evil', '/tmp/hetpose-evil', '..\\evil', 'C:/evil']


def tar_of(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, 'w:gz') as bundle:
        for member in members:
            content = b'x' if member.isfile() else b''
            member.size = len(content)
            bundle.addfile(member, io.BytesIO(content))
    return path


def zip_of(path: Path, *names: str, mode: int = stat.S_IFREG | 0o644) -> Path:
    with zipfile.ZipFile(path, 'w') as bundle:
        for name in names:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            bundle.writestr(info, 'x')
    return path


def special(kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo('inside')
    member.type, member.linkname = kind, '../evil'
    return member


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob('*'))


@pytest.mark.parametrize('name', OUTSIDE)
def test_a_member_outside_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    folder = tmp_path / 'a' / 'b'
    folder.mkdir(parents=True)
    packages = [
        zip_of(tmp_path / 'p.zip', 'fine', name),
        tar_of(tmp_path / 'p.tar.gz', tarfile.TarInfo('fine'), tarfile.TarInfo(name)),
    ]
    for package in packages:
        with pytest.raises(UserError, match='is refused') as error:
            extract_archive(package, folder)
        assert '\n' not in str(error.value)
    assert everything(tmp_path) == ['a', 'a/b', 'p.tar.gz', 'p.zip']
    assert not Path('/tmp/hetpose-evil').exists()


@pytest.mark.parametrize('kind', [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    (tmp_path / 'out').mkdir()
    with pytest.raises(UserError, match='a link or a device'):
        extract_archive(tar_of(tmp_path / 'p.tar', special(kind)), tmp_path / 'out')
    link = zip_of(tmp_path / 'p.zip', 'inside', mode=stat.S_IFLNK | 0o777)
    with pytest.raises(UserError, match='a link or a device'):
        extract_archive(link, tmp_path / 'out')
    assert everything(tmp_path / 'out') == []


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, 'LARGEST', 1)
    with pytest.raises(UserError, match='unpacks to 2 bytes'):
        extract_archive(zip_of(tmp_path / 'p.zip', 'a', 'b'), tmp_path)


def test_a_good_archive_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / 'zip').mkdir()
    (tmp_path / 'tar').mkdir()
    extract_archive(zip_of(tmp_path / 'p.zip', 'a/b', 'c'), tmp_path / 'zip')
    tar = tar_of(tmp_path / 'p.tgz', tarfile.TarInfo('a/b'), tarfile.TarInfo('c'))
    extract_archive(tar, tmp_path / 'tar')
    assert everything(tmp_path / 'zip') == everything(tmp_path / 'tar') == ['a', 'a/b', 'c']


@pytest.mark.parametrize('cut', [1, 20, -30])
def test_a_torn_archive_is_one_line(tmp_path: Path, cut: int) -> None:
    for package in (zip_of(tmp_path / 'p.zip', 'a'), tar_of(tmp_path / 'p.tgz', special(b'0'))):
        package.write_bytes(package.read_bytes()[:cut])
        with pytest.raises(UserError, match=r'cannot be unpacked.*delete it'):
            extract_archive(package, tmp_path)


def test_an_archive_that_changed_is_noticed(tmp_path: Path) -> None:
    package = zip_of(tmp_path / 'p.zip', 'a')
    check_recorded(package)  # nothing is known yet
    record_checksum(package)
    check_recorded(package)
    zip_of(tmp_path / 'p.zip', 'b')
    with pytest.raises(UserError, match='has changed'):
        check_recorded(package)
    (tmp_path / 'checksums.json').write_text('{')
    with pytest.raises(UserError, match='damaged'):
        check_recorded(package)
