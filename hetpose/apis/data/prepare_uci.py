"""Download the twelve UCI sets, check them, and write one numeric CSV each."""

from __future__ import annotations

import csv
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hetpose.apis.data import uci_cleaning
from hetpose.apis.data.archives import extract_archive, record_checksum, recorded_checksum
from hetpose.download import checksum, download
from hetpose.errors import UserError, unknown_name
from hetpose.fileio import atomic_path

ARCHIVE_URL = 'https://archive.ics.uci.edu/static/public'


@dataclass(frozen=True)
class Source:
    """One set of the archive: where its zip file is, its SHA-256 if known, and the cleaned shape.

    ``sha256`` values are those that several public projects record for the same address. Where
    none was found it is None: the checksum of the first download is then kept and later downloads
    are held to it.
    """

    address: str
    sha256: str | None
    rows: int
    columns: int
    clean: Callable[[uci_cleaning.Reader], uci_cleaning.Table]

    @property
    def url(self) -> str:
        return f'{ARCHIVE_URL}/{self.address}'

    @property
    def file_name(self) -> str:
        return self.address.replace('/', '-').replace('+', '_')


WINE = '186/wine+quality.zip', '3ed56667f4b828242bd732d7d1dd7f2861e54432239d7fa63877014cbb0304d4'
SOURCES = {
    'abalone': Source(
        '1/abalone.zip',
        '755a6a67c5b266961a3f149ea13be2cfb6e6c727e48cee3c83bc0b4526210ee4',
        *(4177, 8, uci_cleaning.abalone),
    ),
    'air': Source(
        '360/air+quality.zip',
        'd4a64013fb385288a8a48d9d193ca7079b2e1bbddf6f8d458feb8c08ab2b8a2a',
        *(6941, 15, uci_cleaning.air),
    ),
    'appliances': Source(
        '374/appliances+energy+prediction.zip',
        '2fccf354445d886e7917620b0195db1f3e3e34d5a067a93b844694a4c561255a',
        *(19735, 28, uci_cleaning.appliances),
    ),
    'concrete': Source(
        '165/concrete+compressive+strength.zip',
        'dad85d14de8aee4e07479daa774e6b569a313715b71a3b92c95a07cf91c2c9a7',
        *(1030, 9, uci_cleaning.concrete),
    ),
    'electrical': Source(
        '471/electrical+grid+stability+simulated+data.zip',
        None,
        *(10000, 14, uci_cleaning.electrical),
    ),
    'energy': Source(
        '242/energy+efficiency.zip',
        '499441eee27929a4b00417f58fd8c63c9cc14b8a71520cd0dd27fcb626738351',
        *(768, 10, uci_cleaning.energy),
    ),
    'gas': Source(
        '551/gas+turbine+co+and+nox+emission+data+set.zip',
        '55fdb1acc25f05bd9c77aac285c424e9154ffb0dbf1bbadb56b69a1142231295',
        *(36733, 11, uci_cleaning.gas),
    ),
    'naval': Source(
        '316/condition+based+maintenance+of+naval+propulsion+plants.zip',
        '91a3815da80b5ab7e2d5b82ac82f1c2cbf89182c7a65bcdf240db1e014423cb9',
        *(11934, 18, uci_cleaning.naval),
    ),
    'parkinson': Source(
        '301/parkinson+speech+dataset+with++multiple+types+of+sound+recordings.zip',
        None,
        *(1208, 26, uci_cleaning.parkinson),
    ),
    'power': Source(
        '849/power+consumption+of+tetouan+city.zip',
        '3c4bf684161180937043a9fb65701a83d44b740b0d42f0492b6e7aec57ddbbfe',
        *(26208, 12, uci_cleaning.power),
    ),
    'red_wine': Source(*WINE, 1599, 12, uci_cleaning.red_wine),
    'white_wine': Source(*WINE, 4898, 12, uci_cleaning.white_wine),
}


def prepare_uci_sets(names: list[str], root: Path, force: bool = False) -> dict[str, str]:
    """Write ``root/<name>.csv`` for every name; what happened to each, as one word or a reason.

    Without names, all are prepared.

    A finished CSV is kept unless ``force``; a finished download under ``root/archive`` is reused
    if its checksum holds. A set that fails does not stop the others.
    """
    names = names or list(SOURCES)
    for name in names:
        if name not in SOURCES:
            raise unknown_name('dataset', name, list(SOURCES))
    outcomes = {}
    for name in names:
        target = root / f'{name}.csv'
        if target.exists() and not force:
            outcomes[name] = 'present'
            continue
        try:
            prepare_one(SOURCES[name], target, root / 'archive')
            outcomes[name] = 'written'
        except UserError as error:
            outcomes[name] = f'failed: {error}'
    return outcomes


def prepare_one(source: Source, target: Path, archive: Path) -> None:
    """Download if needed, check, clean, compare with the expected shape, and write whole."""
    package = archive / source.file_name
    if not (package.exists() and _checksum_holds(source, package)):
        download(source.url, package, _expected(source, package), zipfile.is_zipfile)
    try:
        with Members(package) as members:
            names, rows = source.clean(members.read)
    except (ValueError, LookupError, zipfile.BadZipFile) as error:
        raise UserError(
            f'{package} cannot be cleaned ({type(error).__name__}: {error}); it is torn, or the '
            'archive has changed this set'
        ) from error
    shape = (len(rows), len(names))
    if shape != (source.rows, source.columns):
        raise UserError(
            f'{package}: cleaned to {shape[0]} x {shape[1]}, expected {source.rows} x '
            f'{source.columns}; the archive may have changed this set'
        )
    _record(source, package)
    write_table(target, names, rows)


def write_table(path: Path, names: list[str], rows: list[list[float]]) -> None:
    """Write a CSV whole; every number reads back equal, whole numbers have no decimal point."""
    with (
        atomic_path(path) as temporary,
        temporary.open('w', newline='', encoding='utf-8') as handle,
    ):
        writer = csv.writer(handle, lineterminator='\n')
        writer.writerow(names)
        writer.writerows([int(x) if float(x).is_integer() else x for x in row] for row in rows)


def _expected(source: Source, package: Path) -> str | None:
    return source.sha256 or recorded_checksum(package)


def _checksum_holds(source: Source, package: Path) -> bool:
    """Whether a file is what it was before; one that was put there by hand is tried."""
    return _expected(source, package) in (None, checksum(package))


def _record(source: Source, package: Path) -> None:
    """Keep the checksum of a file that proved good, where none is known."""
    if source.sha256 is None:
        record_checksum(package)


class Members:
    """The files of a zip archive by their own name, in whatever folder or inner archive."""

    def __init__(self, package: Path) -> None:
        self.package = package
        self._scratch = tempfile.TemporaryDirectory()
        self._folder = Path(self._scratch.name)

    def __enter__(self) -> Members:
        extract_archive(self.package, self._folder)
        for inner in sorted(self._folder.rglob('*.zip')):
            inner.with_suffix('').mkdir(exist_ok=True)
            extract_archive(inner, inner.with_suffix(''))
        for inner in sorted(self._folder.rglob('*.rar')):
            _extract_rar(inner, self.package)
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    def read(self, name: str) -> bytes:
        found = sorted(p for p in self._folder.rglob('*') if p.name.lower() == name.lower())
        if not found:
            raise UserError(f'{self.package} holds no {name}')
        return found[0].read_bytes()


def _extract_rar(inner: Path, package: Path) -> None:
    """RAR needs a program of the system: Python has no reader of its own."""
    commands = {
        'bsdtar': ['-xf', str(inner), '-C', str(inner.parent)],
        'unar': ['-quiet', '-o', str(inner.parent), str(inner)],
        '7z': ['x', '-y', f'-o{inner.parent}', str(inner)],
        'unrar': ['x', '-o+', str(inner), f'{inner.parent}/'],
    }
    for program, arguments in commands.items():
        if shutil.which(program):
            done = subprocess.run([program, *arguments], capture_output=True, check=False)
            if done.returncode == 0:
                return
    raise UserError(
        f'{package} holds a RAR archive: install one of {", ".join(commands)}, or replace it by a '
        f'zip file of the files in {inner.name}'
    )
