"""Processes that do not outlive the one that started them."""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1  # of prctl(2)


def die_with_parent() -> None:
    """Ask Linux to kill this process when the thread that started it ends; elsewhere nothing."""
    if sys.platform == 'linux':
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
