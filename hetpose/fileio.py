"""Files that are either whole or absent."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hetpose.errors import UserError

_TEMPORARY = re.compile(r'^\..+-[0-9a-f]{8}\.tmp(\.[^.]*)?$')
_LONGEST_STEM = 100  # of a target's name in that of its temporary; file systems allow 255
_MEDIUM_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}
_TORCH_WRITER = 'PytorchStreamWriter failed'


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that replaces ``path`` on success and is removed on failure.

    The content is on the disk before the name changes, so that neither a kill nor a power cut
    leaves half a file under ``path``. A kill may leave the temporary: see ``is_temporary``.
    """
    path = Path(path)
    temporary = _create_temporary(path)
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(path)
        _sync(path.parent)
    except OSError as error:
        if error.errno in _MEDIUM_ERRORS:
            raise UserError(f'cannot write {path}: {error.strerror}') from error
        raise
    except RuntimeError as error:
        if _TORCH_WRITER in str(error):  # torch.save names no errno
            raise UserError(f'cannot write {path}: torch failed, is the disk full?') from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def is_temporary(path: str | Path) -> bool:
    """Whether a file is what ``atomic_path`` was writing when its process was killed."""
    return _TEMPORARY.match(Path(path).name) is not None


def remove_temporaries(folder: str | Path) -> None:
    """Delete what killed processes left in a folder that no other process writes to."""
    for path in Path(folder).iterdir():
        if is_temporary(path) and path.is_file():
            path.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write text atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding='utf-8')


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON atomically, indented, with a final newline."""
    write_text(path, json.dumps(value, indent=2) + '\n')


def write_image(path: str | Path, image: Any) -> None:
    """Write a BGR picture (h, w, 3) atomically, in the format that the suffix names."""
    import cv2

    try:
        # Encoded here and written by Python, whose errors name what is wrong with the disk.
        made, content = cv2.imencode(Path(path).suffix, image)
    except cv2.error as error:  # an unknown suffix
        raise UserError(f'cannot write {path}: {" ".join(str(error).split())}') from error
    if not made:
        raise UserError(f'cannot write {path}: OpenCV cannot encode it')
    with atomic_path(path) as temporary:
        temporary.write_bytes(content.tobytes())


def _create_temporary(path: Path) -> Path:
    """An empty file in the folder of ``path``, with the permissions that a new file gets there.

    The suffix is kept, because savers such as numpy and matplotlib read the format from it.
    """
    name = f'.{path.stem[:_LONGEST_STEM]}-{secrets.token_hex(4)}.tmp{path.suffix}'
    temporary = path.parent / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        raise UserError(f'cannot write {path}: {error.strerror}') from error
    return temporary


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    flags = os.O_RDONLY | getattr(os, 'O_DIRECTORY', 0) if path.is_dir() else os.O_RDWR
    try:
        handle = os.open(path, flags)
    except OSError:
        if path.is_dir():
            return  # not every system opens folders
        raise
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
