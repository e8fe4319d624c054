"""A crash, an error and a value of another process arrive in this one."""

import os
import signal

import pytest

from hetpose.apart import CrashedError, call_apart


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def fail(text: str) -> None:
    raise KeyError(text)


def test_a_value_comes_back_from_another_process() -> None:
    assert call_apart(os.getpid) != os.getpid()
    assert call_apart(divmod, 7, 3) == (2, 1)


def test_an_error_comes_back() -> None:
    with pytest.raises(KeyError, match='joints'):
        call_apart(fail, 'joints')


def test_a_crash_is_an_error() -> None:
    with pytest.raises(CrashedError, match='SIGSEGV'):
        call_apart(crash)


def test_what_cannot_be_sent_is_an_error() -> None:
    with pytest.raises(TypeError, match='function'):
        call_apart(lambda: lambda: None)
