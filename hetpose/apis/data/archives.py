"""Archives that are unpacked into their folder and nowhere else, and known by their checksums."""

from __future__ import annotations

import json
import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from hetpose.download import checksum
from hetpose.errors import UserError
from hetpose.fileio import write_json

CHECKSUM_FILE = 'checksums.json'
LARGEST = 200 << 30  # bytes after unpacking; MPII and COCO stay below 30 GB
# RuntimeError: an encrypted zip, or one whose method of compression is unknown.
_TORN = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
)


def extract_archive(package: str | Path, folder: str | Path) -> None:
    """Unpack a zip or tar file into ``folder``.

    A member that would lie outside (absolute, or by ``..``), a link, a device, and more than
    ``LARGEST`` bytes are refused before anything is written.
    """
    package, folder = Path(package), Path(folder)
    try:
        if zipfile.is_zipfile(package):
            _unzip(package, folder)
        else:
            _untar(package, folder)
    except UserError:
        raise
    except _TORN as error:
        reason = ' '.join(str(error).split()) or type(error).__name__
        raise UserError(f'{package} cannot be unpacked: {reason}; delete it') from error


def _check_member(package: Path, name: str, regular: bool) -> None:
    path = PurePosixPath(name.replace('\\', '/'))
    drive = bool(path.parts) and ':' in path.parts[0]
    if path.is_absolute() or '..' in path.parts or drive:
        raise UserError(f'{package} is refused: its member {name!r} lies outside the archive')
    if not regular:
        raise UserError(f'{package} is refused: its member {name!r} is a link or a device')


def _check_size(package: Path, size: int, folder: Path) -> None:
    if size > LARGEST:
        raise UserError(f'{package} is refused: it unpacks to {size} bytes')
    free = shutil.disk_usage(folder).free
    if size > free:
        raise UserError(f'{package} unpacks to {size} bytes, and {folder} has {free} left')


def _unzip(package: Path, folder: Path) -> None:
    with zipfile.ZipFile(package) as bundle:
        members = bundle.infolist()
        for member in members:
            kind = stat.S_IFMT(member.external_attr >> 16)
            _check_member(package, member.filename, kind in (0, stat.S_IFREG, stat.S_IFDIR))
        _check_size(package, sum(member.file_size for member in members), folder)
        bundle.extractall(folder)


def _untar(package: Path, folder: Path) -> None:
    with tarfile.open(package) as bundle:
        members = bundle.getmembers()
        for member in members:
            _check_member(package, member.name, member.isfile() or member.isdir())
        _check_size(package, sum(member.size for member in members), folder)
        if hasattr(tarfile, 'data_filter'):
            bundle.extractall(folder, members, filter='data')
        else:  # an old patch release of Python; the members are plain files and folders
            bundle.extractall(folder, members)


def recorded_checksum(package: Path) -> str | None:
    """The SHA-256 that an archive had when it proved good; None where none is known."""
    file = package.parent / CHECKSUM_FILE
    if not file.is_file():
        return None
    try:
        found = json.loads(file.read_text(encoding='utf-8')).get(package.name)
    except (ValueError, AttributeError) as error:
        raise UserError(f'{file} is damaged: {error}; delete it') from error
    return found if isinstance(found, str) else None


def record_checksum(package: Path) -> None:
    """Keep the checksum of an archive that proved good; one that is known already stays."""
    if recorded_checksum(package) is None:
        file = package.parent / CHECKSUM_FILE
        known = json.loads(file.read_text(encoding='utf-8')) if file.is_file() else {}
        write_json(file, known | {package.name: checksum(package)})


def check_recorded(package: Path) -> None:
    """Raise where an archive is not what it was when it proved good."""
    known = recorded_checksum(package)
    if known is not None and checksum(package) != known:
        raise UserError(
            f'{package} has changed since it was first unpacked (SHA-256 was {known}); delete it, '
            f'and its entry in {package.parent / CHECKSUM_FILE}, to fetch it again'
        )
