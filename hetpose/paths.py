"""The folders of data and configs.

Data: an argument, else the environment variable HETPOSE_DATA, else ``data``. Configs: the checkout
that this package is imported from, else the copy that a wheel carries in ``hetpose/configs``.
"""

from __future__ import annotations

import os
from pathlib import Path

from hetpose.errors import UserError

DATA_VARIABLE = 'HETPOSE_DATA'
PACKAGE = Path(__file__).resolve().parent


def data_root(name: str, override: str | Path | None = None) -> Path:
    """The folder of a data set family such as ``uci`` or ``lspet``; it need not exist."""
    if override is not None:
        return Path(override)
    return Path(os.environ.get(DATA_VARIABLE, 'data')) / name


def existing(path: str | Path, what: str) -> Path:
    """``path``, or a UserError that names it and where data is looked for."""
    path = Path(path)
    if not path.exists():
        # The families (uci, lspet, ...) lie below what the variable names.
        raise UserError(
            f'{what} not found: {path} (give its path, or set {DATA_VARIABLE} to the folder that '
            f'holds the data sets; now it is {os.environ.get(DATA_VARIABLE, "data")!r})'
        )
    return path


def config_root() -> Path:
    """The folder of the configs that come with hetpose."""
    checkout = PACKAGE.parent / 'configs'
    return checkout if (checkout / '_base_').is_dir() else PACKAGE / 'configs'


def find_config(path: str | Path) -> Path:
    """A config file: ``path`` where it exists, else the same path among hetpose's own configs.

    ``configs/uci/nll.py``, ``uci/nll.py`` and ``uci/nll`` name the same file there.
    """
    given = Path(path)
    if given.is_file():
        return given
    parts = given.parts[1:] if given.parts[:1] == ('configs',) else given.parts
    own = config_root().joinpath(*parts)
    for candidate in (own, own.with_name(f'{own.name}.py')):
        if not given.is_absolute() and candidate.is_file():
            return candidate
    raise UserError(f'config not found: {path}')


def existing_file(path: str | Path, what: str) -> Path:
    """As ``existing``, and no folder or pipe: reading a pipe would wait for ever."""
    path = existing(path, what)
    if not path.is_file():
        raise UserError(f'{what} is not a file: {path}')
    return path
