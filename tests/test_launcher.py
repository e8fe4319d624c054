"""Under torchrun an error is one line, named once."""

import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

import pytest

from hetpose import launcher


def dist(root, *arguments):
    return subprocess.run(
        ['bash', root / 'tools' / 'dist_train.sh', *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={'PATH': '/usr/bin:/bin', 'PYTHON': sys.executable, 'PYTHONPATH': str(root)},
    )


@pytest.mark.slow
def test_a_user_error_is_one_line(root) -> None:
    run = dist(root, 'nowhere.py', '2')
    assert run.returncode == 2
    assert run.stderr == 'error: config not found: nowhere.py\n'


class Failure(NamedTuple):
    exitcode: int
    timestamp: int


def test_a_process_that_the_launcher_ended_is_not_the_cause() -> None:
    ended, wrong, later = Failure(-signal.SIGTERM, 5), Failure(2, 5), Failure(1, 9)
    assert launcher.first_cause({0: later, 1: ended, 2: wrong}) == (2, wrong)
    assert launcher.first_cause({1: ended}) == (1, ended)


def launch(tmp_path, body: str):
    script = tmp_path / 'script.py'
    script.write_text(body)
    with pytest.raises(SystemExit) as stop:
        launcher.main(['--standalone', '--nproc_per_node', '2', str(script)])
    return stop.value.code


@pytest.mark.slow
def test_a_bug_keeps_its_trace_and_a_signal_its_code(tmp_path, capfd, monkeypatch) -> None:
    temporary = tmp_path / 'temporary'
    temporary.mkdir()
    monkeypatch.setattr(tempfile, 'tempdir', str(temporary))
    assert launch(tmp_path, 'raise ZeroDivisionError') == 1
    error = capfd.readouterr().err
    assert 'ZeroDivisionError' in error
    assert 'ended with code 1; its output is above' in error
    assert 'ChildFailedError' not in error
    assert launch(tmp_path, 'import os; os.kill(os.getpid(), 9)') == 137
    assert not list(temporary.iterdir())


def test_a_signal_to_the_launcher_is_one_line(monkeypatch, capsys) -> None:
    import signal

    from torch.distributed.elastic.multiprocessing.api import SignalException

    def stopped(args) -> None:
        raise SignalException('torchrun got signal', signal.SIGTERM)

    monkeypatch.setattr(launcher.run, 'run', stopped)
    with pytest.raises(SystemExit) as stop:
        launcher.main(['--standalone', 'script.py'])
    assert stop.value.code == 143
    assert capsys.readouterr().err == 'stopped by SIGTERM; --resume continues\n'
