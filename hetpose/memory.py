"""The most memory that a process has held, since it was last told to forget.

On Linux the pages of programs and libraries do not count: they come into memory where they are
first used, and a small measurement would be mostly theirs.
"""

from __future__ import annotations

import ctypes
import resource
import sys
from pathlib import Path

STATUS = Path('/proc/self/status')
CLEAR_REFS = Path('/proc/self/clear_refs')
FORGET_PEAK = '5'


def reset_peak() -> int:
    """Reset the high-water mark where the kernel allows it; return the bytes held now.

    What was freed and kept for later is given back first, or what follows would fill it unseen.
    Where the mark cannot be reset, what follows is measured from the peak so far, and may seem to
    need less.
    """
    try:
        _give_back()
        CLEAR_REFS.write_text(FORGET_PEAK)
        return _status('VmRSS') - _status('RssFile')
    except OSError:
        return peak()


def peak() -> int:
    """The high-water mark of this process in bytes."""
    if STATUS.exists():
        return _status('VmHWM') - _status('RssFile')
    unit = 1 if sys.platform == 'darwin' else 1024  # macOS counts bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _give_back() -> None:
    """Return memory that malloc holds free, where the C library can."""
    trim = getattr(ctypes.CDLL(None), 'malloc_trim', None) if sys.platform == 'linux' else None
    if trim is not None:
        trim(0)


def _status(key: str) -> int:
    """A field of /proc/self/status in bytes; 0 where the kernel does not tell it."""
    lines = STATUS.read_text().splitlines()
    found = [line.split()[1] for line in lines if line.startswith(f'{key}:')]
    return int(found[0]) * 1024 if found else 0
