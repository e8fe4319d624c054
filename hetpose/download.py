"""Fetch a file from the network: whole, checked and named only then."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from tqdm import tqdm

from hetpose.errors import UserError
from hetpose.fileio import atomic_path

CHUNK = 1 << 20
TIMEOUT = 60  # seconds without an answer


def download(
    url: str,
    path: Path,
    sha256: str | None = None,
    check: Callable[[Path], bool] | None = None,
) -> None:
    """Fetch ``url`` to ``path`` with a progress bar.

    Args:
        url: The address.
        path: The file to write; it appears once it is whole and every check holds.
        sha256: The checksum that the file must have; None: any.
        check: Whether the file is what it should be, for example a zip file.
    """
    with atomic_path(path) as temporary:
        try:
            size = _fetch(url, temporary, path.name)
        except (URLError, OSError, HTTPException) as error:
            raise UserError(
                f'cannot download {url}: {error}; fetch it by hand to {path}'
            ) from error
        if size and temporary.stat().st_size != size:
            raise UserError(f'{url}: the connection closed early; run again')
        if check is not None and not check(temporary):
            raise UserError(f'{url}: what came is not a file of the kind that was expected')
        observed = checksum(temporary)
        if sha256 not in (None, observed):
            raise UserError(f'{url}: SHA-256 is {observed}, expected {sha256}')


def _fetch(url: str, path: Path, title: str) -> int | None:
    """Write what comes; returns the length that the server announced."""
    request = Request(url, headers={'User-Agent': 'hetpose'})
    with urlopen(request, timeout=TIMEOUT) as response, path.open('wb') as handle:
        size = int(response.headers.get('Content-Length') or 0) or None
        with tqdm(total=size, unit='B', unit_scale=True, desc=title) as bar:
            while chunk := response.read(CHUNK):
                handle.write(chunk)
                bar.update(len(chunk))
    return size


def checksum(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open('rb') as handle:
        while chunk := handle.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
