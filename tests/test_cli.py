"""Bad input is one line and exit code 2; a bug keeps its trace."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from hetpose import cli
from hetpose.errors import UserError, unknown_name
from hetpose.version import __version__


def failing(error: BaseException) -> Callable[[], int]:
    def main() -> int:
        raise error

    return main


@pytest.mark.parametrize(('value', 'code'), [(None, 0), (0, 0), (1, 1)])
def test_the_value_is_the_exit_code(value: int | None, code: int) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.run(lambda: value)
    assert stop.value.code == code


def test_a_user_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.run(failing(UserError('no such file: a.jpg')))
    assert stop.value.code == 2
    assert capsys.readouterr().err == 'error: no such file: a.jpg\n'


def test_debug_shows_the_trace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('HETPOSE_DEBUG', '1')
    with pytest.raises(SystemExit):
        cli.run(failing(UserError('x')))
    assert 'Traceback' in capsys.readouterr().err


def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        cli.run(failing(ZeroDivisionError()))


def test_a_fault_of_the_machine_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    full = OSError(errno.ENOSPC, 'No space left on device')
    of_a_worker = RuntimeError('unit a failed')
    of_a_worker.__cause__ = OSError(errno.ENOTDIR, 'Not a directory', 'a/b')
    for error, line in (
        (full, 'error: No space left on device\n'),
        (of_a_worker, 'error: unit a failed: Not a directory: a/b\n'),
    ):
        with pytest.raises(SystemExit) as stop:
            cli.run(failing(error))
        assert stop.value.code == 2
        assert capsys.readouterr().err == line
    with pytest.raises(RuntimeError):
        cli.run(failing(RuntimeError('a bug')))


def test_an_unknown_name_shows_the_known_ones() -> None:
    assert str(unknown_name('method', 'nl', ['nll', 'mse'])) == (
        "unknown method 'nl'; known: mse, nll"
    )


def test_it_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(['--version'])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f'hetpose {__version__}\n'


def test_a_locale_that_cannot_show_a_sign_does_not_lose_the_work() -> None:
    body = 'from hetpose import cli; cli.run(lambda: print("pixels² of Σ"))'
    done = subprocess.run(
        [sys.executable, '-c', body],
        capture_output=True,
        check=False,
        env={**os.environ, 'PYTHONIOENCODING': 'ascii'},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b'pixels\\xb2 of \\u03a3\n'
