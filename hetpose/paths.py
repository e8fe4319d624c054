"""Where data lies: an argument, else the environment variable HETPOSE_DATA, else ``data``."""

from __future__ import annotations

import os
from pathlib import Path

from hetpose.errors import UserError

DATA_VARIABLE = 'HETPOSE_DATA'


def data_root(name: str, override: str | Path | None = None) -> Path:
    """The folder of a data set family such as ``uci`` or ``lspet``; it need not exist."""
    if override is not None:
        return Path(override)
    return Path(os.environ.get(DATA_VARIABLE, 'data')) / name


def existing(path: str | Path, what: str) -> Path:
    """``path``, or a UserError that names it and says where data is looked for."""
    path = Path(path)
    if not path.exists():
        raise UserError(
            f'{what} not found: {path} (give its path, or set {DATA_VARIABLE} to its parent)'
        )
    return path
