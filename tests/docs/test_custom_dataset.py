"""The tutorial runs as it stands: its Python in one namespace, its commands in this process."""

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

BLOCK = re.compile(r'^```(python|bash)\n(.*?)^```', re.MULTILINE | re.DOTALL)
SAVE = re.compile(r'# save as: (\S+)\n')


def run_command(line: str) -> None:
    program, script, *arguments = shlex.split(line)
    assert program == 'python'
    sys.argv = [script, *arguments]
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(script, run_name='__main__')
    assert not stop.value.code, line


def run_block(language: str, code: str, names: dict) -> None:
    saved = SAVE.match(code)
    if saved:
        Path(saved[1]).write_text(code)
    elif language == 'python':
        exec(compile(code, 'custom_dataset.md', 'exec'), names)
    else:
        for line in code.strip().splitlines():
            run_command(line)


@pytest.mark.slow
def test_every_block_of_the_tutorial_runs(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'argv', list(sys.argv))
    (tmp_path / 'tools').symlink_to(root / 'tools')  # the commands are given from the repository
    blocks = BLOCK.findall((root / 'docs' / 'custom_dataset.md').read_text(encoding='utf-8'))
    assert len(blocks) == 9
    names: dict = {}
    for language, code in blocks:
        run_block(language, code, names)
    assert capsys.readouterr().out.count('score') >= 5
    written = [
        'work/epoch_1.pth',
        'out/val_0000.png',
        'out/val_0000.json',
        'calibration/report.md',
        'calibration/calibration.json',
        'pseudo_labels.npz',
        'hybrid/epoch_2.pth',
    ]
    for name in written:
        assert (tmp_path / 'fish' / name).stat().st_size > 0
    assert names['calibrated'].predictor.calibration.model == 'config'
