"""Curves show the numbers of the log."""

from pathlib import Path

import pytest

from hetpose.apis import logs
from hetpose.errors import UserError

LOG = '{"step": 1, "loss": 2.0, "lr": 0.1}\n{"step": 2, "loss": 1.0, "note": "x"}\n{"step": 3, "lo'


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    for index, name in enumerate(('old', 'new')):
        folder = tmp_path / 'run' / name / 'vis_data'
        folder.mkdir(parents=True)
        (folder / 'scalars.json').write_text(LOG if index else '{"step": 1, "loss": 9}')
    return tmp_path / 'run'


def test_the_newest_log_of_a_work_directory_is_read(work_dir: Path) -> None:
    import os

    os.utime(work_dir / 'old' / 'vis_data' / 'scalars.json', (0, 0))
    curves = logs.read_curves(logs.find_log(work_dir))
    assert curves == {'loss': [(1, 2.0), (2, 1.0)], 'lr': [(1, 0.1)]}


def test_a_picture_is_drawn(work_dir: Path, tmp_path: Path) -> None:
    logs.plot_curves([str(work_dir)], ['loss'], tmp_path / 'a.png')
    assert (tmp_path / 'a.png').read_bytes().startswith(b'\x89PNG')


def test_a_picture_of_no_known_kind_is_refused(work_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unknown kind of picture '\.xyz'; known: .*\.png"):
        logs.plot_curves([str(work_dir)], ['loss'], tmp_path / 'a.xyz')


def test_a_line_that_is_no_record_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / 'scalars.json').write_text('5\n{"loss": 1.0, "step": 1}\n')
    assert logs.read_curves(tmp_path / 'scalars.json') == {'loss': [(1, 1.0)]}


def test_an_unknown_scalar_shows_the_known_ones(work_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'nll'; known: loss"):
        logs.plot_curves([str(work_dir)], ['nll'], tmp_path / 'a.png')
    assert not (tmp_path / 'a.png').exists()


def test_a_folder_without_logs_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'no scalars\.json'):
        logs.find_log(tmp_path)


def test_the_axis_says_what_is_counted(tmp_path: Path) -> None:
    path = tmp_path / 'scalars.json'
    path.write_text(
        '{"loss": 2.0, "epoch": 1, "iter": 50, "step": 50}\n{"pose/nll": 3.0, "step": 1}\n'
        '{"loss": 1.0, "epoch": 2, "iter": 100, "step": 100}\n{"pose/nll": 2.0, "step": 2}\n{"to'
    )
    assert logs.axis_name(path, 'loss') == 'iteration'
    assert logs.axis_name(path, 'pose/nll') == 'epoch'
    path.write_text('{"loss": 1.0, "iter": 50, "step": 50}\n{"pose/nll": 2.0, "step": 50}\n')
    assert logs.axis_name(path, 'pose/nll') == 'iteration'
