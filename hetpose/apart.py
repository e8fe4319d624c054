"""Call a function in a process of its own, for readers that a damaged file can crash."""

from __future__ import annotations

import faulthandler
import multiprocessing
import signal
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class CrashedError(RuntimeError):
    """The process of a call ended without an answer."""


def call_apart(function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)`` in a child process; what it raises is raised here.

    A crash of the child is a CrashedError. Where processes cannot be forked, or may not have
    children, the function is called in this one.
    """
    if 'fork' not in multiprocessing.get_all_start_methods():
        return function(*args)
    if multiprocessing.current_process().daemon:
        return function(*args)
    context = multiprocessing.get_context('fork')
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, function, args), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # of threads: the child does not use them
        process.start()
    sender.close()
    try:
        raised, value = receiver.recv()
    except EOFError:
        process.join()
        raise CrashedError(f'the reader crashed: {_name(process.exitcode)}') from None
    process.join()
    if raised:
        raise value
    return value


def _answer(sender: Connection, function: Callable[..., Any], args: tuple) -> None:
    faulthandler.disable()  # the parent tells of a crash
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        answer: tuple[bool, Any] = (False, function(*args))
    except Exception as error:
        answer = (True, error)
    try:
        sender.send(answer)
    except Exception as error:  # an answer that cannot be pickled
        sender.send((True, TypeError(f'{type(answer[1]).__name__}: {answer[1]} ({error})')))


def _name(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f'exit code {code}'
