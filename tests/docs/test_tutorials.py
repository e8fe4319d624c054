"""The tutorials run as they stand: their Python in one namespace, their commands here."""

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


def run_block(language: str, code: str, names: dict, page: str) -> None:
    saved = SAVE.match(code)
    if saved:
        Path(saved[1]).parent.mkdir(parents=True, exist_ok=True)
        Path(saved[1]).write_text(code, encoding='utf-8')
    elif language == 'python':
        exec(compile(code, page, 'exec'), names)
    else:
        for line in code.strip().splitlines():
            run_command(line)


@pytest.fixture
def run_page(root, tmp_path, monkeypatch):
    """Run a page in an empty folder that has the repository's tools and configs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, 'argv', list(sys.argv))
    for folder in ('tools', 'configs'):
        (tmp_path / folder).symlink_to(root / folder)

    def run(page: str, count: int) -> dict:
        blocks = BLOCK.findall((root / 'docs' / page).read_text(encoding='utf-8'))
        assert len(blocks) == count
        names: dict = {}
        for language, code in blocks:
            run_block(language, code, names, page)
        return names

    return run


@pytest.mark.slow
def test_your_own_data_set(run_page, tmp_path, capsys):
    names = run_page('custom_dataset.md', 9)
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


def test_your_own_covariance_and_objective(run_page):
    """The page ends with the laws that its classes must obey."""
    names = run_page('extending.md', 5)
    assert names['masked'].shape == (3,)
