"""Files that are either whole or absent."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hetpose.errors import UserError


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that replaces ``path`` on success and is removed on failure."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The suffix is kept, because savers such as numpy and matplotlib read the format from it.
        prefix = f'.{path.stem}-'
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise UserError(f'cannot write {path}: {error.strerror}') from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes files private
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write text atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding='utf-8')


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON atomically, indented, with a final newline."""
    write_text(path, json.dumps(value, indent=2) + '\n')
