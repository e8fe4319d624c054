"""The most memory that a process has held, since it was last told to forget."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

STATUS = Path('/proc/self/status')
CLEAR_REFS = Path('/proc/self/clear_refs')
FORGET_PEAK = '5'


def reset_peak() -> int:
    """Reset the high-water mark where the kernel allows it; return the bytes held now.

    Where it does not, what follows is measured from the peak so far, and may seem to need less.
    """
    try:
        CLEAR_REFS.write_text(FORGET_PEAK)
        return _status('VmRSS')
    except OSError:
        return peak()


def peak() -> int:
    """The high-water mark of this process in bytes."""
    if STATUS.exists():
        return _status('VmHWM')
    unit = 1 if sys.platform == 'darwin' else 1024  # macOS counts bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(key: str) -> int:
    """A field of /proc/self/status in bytes."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key + ':'))
    return int(line.split()[1]) * 1024
