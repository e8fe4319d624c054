"""On a full disk, and in a folder that cannot be written to, a tool ends in one line.

A limit on the size of files stands for the disk: every write beyond it fails, in Python as in the
libraries below, at the moment that a full disk would fail it.
"""

import json
import resource
import shutil
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from helpers_posthoc import write_foreign
from helpers_training import pose_config
from mmengine.config import Config
from mmpose.registry import MODELS

from hetpose import cli
from hetpose.apis.saving import write_model

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def full_disk(size: int):
    """No file may grow beyond ``size`` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    read = Config.fromfile

    def fromfile(*args, **kwargs):  # mmengine copies what it reads, to another disk
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        try:
            return read(*args, **kwargs)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    Config.fromfile = staticmethod(fromfile)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        Config.fromfile = staticmethod(read)
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope='module')
def world(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp('world')
    config = pose_config(folder, epochs=2)
    config.log_level = 'INFO'
    config.dump(folder / 'config.py')
    torch.manual_seed(0)
    write_model(config.copy(), MODELS.build(config.model), {}, folder)
    config.dump(folder / 'config.py')
    write_foreign(folder, 'heatmap', 60)
    film = cv2.VideoWriter(
        str(folder / 'film.mp4'), cv2.VideoWriter_fourcc(*'mp4v'), 5, (128, 128)
    )
    for i in range(8):
        noise = np.random.default_rng(i).integers(0, 255, (128, 128, 3)).astype(np.uint8)
        film.write(noise)
    film.release()
    return folder


def commands(world: Path, out: Path, name: str) -> list[str]:
    model = [world / 'config.py', world / 'checkpoint.pth']
    named = ['--cfg-options', f'visualizer.name={name}']
    chosen = ['--config', model[0], '--checkpoint', model[1], '--device', 'cpu']
    picture = ROOT / 'docs' / 'images' / 'figure.png'
    foreign = [world / 'foreign.py', world / 'foreign.pth', '--epochs', 1, '--device', 'cpu']
    words = {
        'train': ['train', model[0], '--work-dir', out / 'work', *named],
        'test': ['test', *model, '--work-dir', out / 'work', '--out', out / 'm.json', *named],
        'infer': ['infer', picture, *chosen, '--vis-out-dir', out, '--pred-out-dir', out],
        'film': ['infer', world / 'film.mp4', *chosen, '--vis-out-dir', out],
        'calibrate': ['calibrate', *model, '--out', out / 'c'],
        'pseudo-labels': ['pseudo-labels', model[0], '--out', out / 'p.npz', '--no-progress'],
        'fit-covariance': ['fit-covariance', *foreign, '--out', out / 'f'],
        'export': ['export', *model, '--out', out / 'm.onnx'],
        'suite': ['suite', 'bivariate', '--datasets', 'far', '--methods', 'nll', '--out', out],
        'browse': ['browse', model[0], '--out', out / 'b', '--num', 1],
    }
    return [str(word) for word in words[name]]


def last_line(words: list[str], capsys) -> str:
    """The one line of an error; every other line is a bar of progress or a warning."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    shown = capsys.readouterr().err
    assert stop.value.code == 2, shown
    assert 'Traceback' not in shown
    assert 'Logging error' not in shown
    lines = [line for line in shown.splitlines() if line.startswith('error: ')]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize(
    'name', ['train', 'test', 'infer', 'film', 'calibrate', 'pseudo-labels', 'browse']
)
@pytest.mark.parametrize('size', [10, 6000])
def test_a_full_disk_is_one_line_and_leaves_no_half_file(
    name: str, size: int, world: Path, tmp_path: Path, capsys
) -> None:
    with full_disk(size):
        line = last_line(commands(world, tmp_path, name), capsys)
    assert 'cannot write' in line
    assert str(tmp_path) in line
    for path in tmp_path.rglob('*'):
        if path.suffix == '.json' and 'vis_data' not in path.parts and path.parent == tmp_path:
            json.loads(path.read_text())
        assert path.suffix not in ('.pth', '.onnx', '.mp4', '.npz', '.png')
        assert '.tmp' not in path.name


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name', ['fit-covariance', 'export'])
def test_what_computes_long_is_one_line_too(name: str, world: Path, tmp_path: Path, capsys):
    if name == 'export':
        pytest.importorskip('onnxruntime')
    with full_disk(2000):
        line = last_line(commands(world, tmp_path, name), capsys)
    assert 'cannot write' in line


def test_a_run_whose_disk_fills_keeps_its_last_checkpoint(world, tmp_path, capsys) -> None:
    words = commands(world, tmp_path, 'train')
    words[-1] = 'visualizer.name=before'
    with pytest.raises(SystemExit) as stop:
        cli.main([*words, 'train_cfg.max_epochs=2'])
    assert stop.value.code == 0
    work = tmp_path / 'work'
    kept = (work / 'epoch_2.pth').read_bytes()
    pointer = (work / 'last_checkpoint').read_text()
    words[-1] = 'visualizer.name=after'
    with full_disk(len(kept) // 2):
        last_line([*words, 'train_cfg.max_epochs=4', '--resume'], capsys)
    assert (work / 'epoch_2.pth').read_bytes() == kept
    assert (work / 'last_checkpoint').read_text() == pointer
    words[-1] = 'visualizer.name=again'
    with pytest.raises(SystemExit) as stop:
        cli.main([*words, 'train_cfg.max_epochs=4', '--resume'])
    assert stop.value.code == 0
    assert (work / 'epoch_4.pth').is_file()


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize(
    'name',
    ['train', 'test', 'infer', 'calibrate', 'pseudo-labels', 'fit-covariance', 'export', 'suite'],
)
def test_a_folder_that_cannot_be_written_to_is_one_line(
    name: str, world: Path, tmp_path: Path, capsys
) -> None:
    """A file in place of the folder: not even the super-user can write below it."""
    blocked = tmp_path / 'blocked'
    shutil.copy(world / 'config.py', blocked)
    words = commands(world, blocked / 'deeper', name)
    if name == 'test':
        words[words.index('--work-dir') + 1] = str(tmp_path / 'work')
    line = last_line(words, capsys)
    assert str(blocked) in line
