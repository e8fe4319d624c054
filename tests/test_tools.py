"""Every command line teaches its use, and says in one line what is wrong with its input."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = sorted((ROOT / 'tools').rglob('*.py'))
SCRIPTS = sorted(path for path in (ROOT / 'tools').glob('*.sh') if path.stem != 'torchrun')


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, cwd=ROOT
    )


@pytest.mark.parametrize('path', TOOLS, ids=lambda path: path.stem)
def test_help(path: Path) -> None:
    result = run(sys.executable, path, '--help')
    assert result.returncode == 0, result.stderr
    assert 'usage:' in result.stdout
    assert f'python tools/{path.relative_to(ROOT / "tools")}' in result.stdout, 'shows no example'


@pytest.mark.parametrize('path', SCRIPTS, ids=lambda path: path.stem)
def test_a_script_without_arguments_shows_its_use(path: Path) -> None:
    result = run('bash', path)
    assert result.returncode == 2
    assert path.name in result.stderr


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['train.py', 'nowhere.py'], 'error: config not found: nowhere.py'),
        (['test.py', 'nowhere.py', 'x.pth'], 'error: config not found: nowhere.py'),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str) -> None:
    result = run(sys.executable, ROOT / 'tools' / arguments[0], *arguments[1:])
    assert result.returncode == 2
    assert result.stderr.strip().splitlines()[-1] == message
    assert 'Traceback' not in result.stderr
