"""One run at a time in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hetpose.errors import UserError

NAME = '.lock'


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Hold a folder for this process; an error that names the process that holds it already.

    The system gives the lock back when the process ends, however it ends. On systems and file
    systems without such locks nothing is held.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    path = Path(folder) / NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise UserError(f'cannot write to {folder}: {error.strerror}') from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(handle, 64).decode(errors='replace').strip() or 'another process'
            raise UserError(
                f'{folder} is in use by {holder}: wait for it, or choose another folder'
            ) from error
        except OSError:  # a file system without locks
            yield
            return
        try:
            os.ftruncate(handle, 0)
            os.write(handle, f'process {os.getpid()} on {os.uname().nodename}'.encode())
        except OSError as error:
            raise UserError(f'cannot write to {folder}: {error.strerror}') from error
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)  # also where a child process still has the file
    finally:
        os.close(handle)
