"""Weights that come with hetpose, in half precision.

``checksums.json`` holds the SHA-256 of every file; a file is used only if it has it. NOTICE tells
where the weights come from.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from hetpose.errors import UserError, unknown_name

FOLDER = Path(__file__).resolve().parent


def checksums() -> dict[str, str]:
    """The SHA-256 of every file of weights, by name."""
    return json.loads((FOLDER / 'checksums.json').read_text(encoding='utf-8'))


def shipped(name: str) -> Path:
    """A file of weights, or a UserError if it is not there or not as it was shipped."""
    known = checksums()
    if name not in known:
        raise unknown_name('file of weights', name, list(known))
    path = FOLDER / name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(
            f'{path} cannot be read ({error.strerror}); it comes with hetpose: install it again'
        ) from error
    if hashlib.sha256(content).hexdigest() != known[name]:
        raise UserError(f'{path} is damaged: its checksum is wrong; install hetpose again')
    return path
