"""Every command teaches its use, and a script in tools/ is the command of the same purpose."""

import subprocess
import sys
from pathlib import Path

import pytest

from hetpose.commands import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
TOOLS = sorted((ROOT / 'tools').rglob('*.py'))
SCRIPTS = sorted(path for path in (ROOT / 'tools').glob('*.sh') if path.stem != 'torchrun')


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, cwd=ROOT
    )


@pytest.mark.parametrize('path', TOOLS, ids=lambda path: path.stem)
def test_a_tool_is_a_command(path: Path) -> None:
    result = run(sys.executable, path, '--help')
    assert result.returncode == 0, result.stderr
    name = result.stdout.split()[2]
    assert result.stdout.startswith(f'usage: hetpose {name} ')
    assert name in COMMANDS
    assert f'\n  hetpose {name}' in result.stdout, 'shows no example'


def test_every_command_but_the_doctor_is_a_tool() -> None:
    text = ''.join(path.read_text() for path in TOOLS)
    missing = [name for name in COMMANDS if f"cli.tool('{name}')" not in text]
    assert missing == ['doctor']


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
