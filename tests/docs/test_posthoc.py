"""The commands of the page, and those of README's block, run as they stand on a tiny model."""

import re
import runpy
import shlex
import sys

import pytest
from helpers_posthoc import write_foreign

COMMANDS = re.compile(r'^```bash\n(.*?)^```', re.MULTILINE | re.DOTALL)


def run_command(line: str) -> None:
    program, script, *arguments = shlex.split(line)
    assert program == 'python'
    sys.argv = [script, *arguments]
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(script, run_name='__main__')
    assert not stop.value.code, line


@pytest.mark.slow
def test_the_commands_run(root, tmp_path, monkeypatch, capsys):
    config, checkpoint = write_foreign(tmp_path, 'rtmcc', 60)
    config.rename(tmp_path / 'rtmpose.py')
    checkpoint.rename(tmp_path / 'rtmpose.pth')
    (tmp_path / 'tools').symlink_to(root / 'tools')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'argv', list(sys.argv))
    (block,) = COMMANDS.findall((root / 'docs' / 'posthoc.md').read_text(encoding='utf-8'))
    commands = block.strip().splitlines()
    assert len(commands) == 5
    for line in commands:
        run_command(line)
    readme = COMMANDS.findall((root / 'README.md').read_text(encoding='utf-8'))
    (block,) = (block for block in readme if 'rtmpose.pth' in block)
    fit, infer = block.replace('\\\n', ' ').strip().splitlines()
    assert fit == commands[0]
    run_command(infer)
    assert 'keypoints unchanged: largest difference 0' in capsys.readouterr().out
    for name in (
        'metrics.json',
        'out/0.json',
        'work_dirs/rtmpose/again/report.md',
        'rtmpose.onnx',
        'out/0.png',
    ):
        assert (tmp_path / name).stat().st_size > 0
