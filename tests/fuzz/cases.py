"""Damaged input of every kind. A case ends well, or in an error that names what is wrong.

Each target makes one case from a random generator, so that (target, seed) repeats it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import torch
from scipy.io import savemat

import hetpose
from hetpose.apis import read_arrays
from hetpose.apis.calibration.recalibration import Recalibration
from hetpose.apis.data.archives import extract_archive
from hetpose.apis.inference.inputs import read_image
from hetpose.datasets.pose.lsp import read_joints
from hetpose.datasets.pose.pseudo_label_file import PseudoLabelFile
from hetpose.datasets.regression.uci import read_csv
from hetpose.engine.checkpoint import read_checkpoint
from hetpose.engine.config_file import load_config
from hetpose.errors import UserError

Case = Callable[[np.random.Generator, Path], object]
TARGETS: dict[str, Case] = {}
NAMED = (UserError, ValueError)


def target(case: Case) -> Case:
    """Register a maker of cases under its own name."""
    TARGETS[case.__name__] = case
    return case


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """The same bytes cut short, with flipped bits, with a part doubled, or with noise in it."""
    data = bytearray(content)
    kind = rng.integers(5)
    if kind == 0:
        return bytes(data[: rng.integers(len(data) + 1)])
    if kind == 1:
        for _ in range(rng.integers(1, 20)):
            data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    elif kind == 2:
        start, size = rng.integers(len(data)), rng.integers(1, 64)
        data[start : start + size] = rng.bytes(size)
    elif kind == 3:
        start, end = sorted(rng.integers(0, len(data) + 1, 2))
        data = data[:end] + data[start:]
    else:
        return rng.bytes(int(rng.integers(0, 200)))
    return bytes(data)


@lru_cache
def sources() -> dict[str, bytes]:
    """One good file of each kind."""
    made: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        weights = {'a': torch.arange(12.0), 'b': torch.ones(3, 3)}
        meta = dict(sigmas=np.zeros(0), epoch=3, name='x', scale=np.float64(2))
        torch.save(dict(state_dict=weights, meta=meta), folder / 'pth')
        PseudoLabelFile(
            folder / 'labels.npz',
            ['x/1', 'x/2'],
            np.zeros(2, np.uint64),
            np.zeros((2, 10), np.float32),
            ['a', 'b'],
            dict(recipe={}),
        ).write()
        np.savez(
            folder / 'arrays.npz',
            mean=np.zeros((9, 4)),
            cov=np.tile(np.eye(4), (9, 1, 1)),
            target=np.ones((9, 4)),
        )
        Recalibration((1.0,), (0.1,), 4, 9, 1.0, 0.5, ('a', 'b')).save(folder / 'json')
        (folder / 'csv').write_text('a,b,c\n' + '1.5,2,3\n' * 20)
        joints = np.random.default_rng(0).uniform(0, 90, (3, 14, 6))
        savemat(folder / 'plain.mat', dict(joints=joints))
        savemat(folder / 'packed.mat', dict(joints=joints), do_compression=True)
        image = np.random.default_rng(0).integers(0, 255, (24, 24, 3)).astype(np.uint8)
        cv2.imwrite(str(folder / 'image.jpg'), image)
        with zipfile.ZipFile(folder / 'zip', 'w') as bundle:
            bundle.writestr('a/b', 'x' * 50)
        with tarfile.open(folder / 'tar', 'w:gz') as bundle:
            info = tarfile.TarInfo('a/b')
            info.size = 50
            bundle.addfile(info, io.BytesIO(b'x' * 50))
        (folder / 'config.py').write_text(CONFIG)
        for path in folder.iterdir():
            made[path.name] = path.read_bytes()
    return made


CONFIG = """
default_scope = 'mmpose'
train_cfg = dict(by_epoch=True, max_epochs=3)
optim_wrapper = dict(optimizer=dict(type='Adam', lr=1e-3))
numbers = [1, 2, dict(a=1)]
"""


def _file(rng: np.random.Generator, folder: Path, kind: str, name: str) -> Path:
    path = folder / name
    path.write_bytes(damaged(rng, sources()[kind]))
    return path


@target
def checkpoint(rng: np.random.Generator, folder: Path) -> None:
    """A .pth file."""
    read_checkpoint(_file(rng, folder, 'pth', 'c.pth'))


@target
def pseudo_labels(rng: np.random.Generator, folder: Path) -> None:
    """A file of pseudo-labels."""
    PseudoLabelFile.read(_file(rng, folder, 'labels.npz', 'l.npz'))


@target
def arrays(rng: np.random.Generator, folder: Path) -> None:
    """Predictions as NPZ."""
    read_arrays(_file(rng, folder, 'arrays.npz', 'a.npz'))


@target
def recalibration(rng: np.random.Generator, folder: Path) -> None:
    """A calibration file."""
    Recalibration.load(_file(rng, folder, 'json', 'c.json'))


@target
def table(rng: np.random.Generator, folder: Path) -> None:
    """A CSV file."""
    read_csv(_file(rng, folder, 'csv', 't.csv'))


@target
def joints(rng: np.random.Generator, folder: Path) -> None:
    """A joints.mat file, whose damage can crash scipy's reader."""
    read_joints(_file(rng, folder, ('plain.mat', 'packed.mat')[rng.integers(2)], 'joints.mat'))


@target
def image(rng: np.random.Generator, folder: Path) -> None:
    """A JPEG file."""
    read_image(_file(rng, folder, 'image.jpg', 'i.jpg'))


@target
def archive(rng: np.random.Generator, folder: Path) -> None:
    """A zip or tar file."""
    kind = ('zip', 'tar')[rng.integers(2)]
    (folder / 'out').mkdir(exist_ok=True)
    extract_archive(_file(rng, folder, kind, f'p.{kind}'), folder / 'out')


KEYS = (
    'train_cfg',
    'max_epochs',
    'numbers',
    '0',
    '2',
    'a',
    'optim_wrapper',
    'optimizer',
    'lr',
    '',
)
VALUES = ('1', '-3', 'None', '[1,2', '(1,', '{}', 'nan', '1e400', "'", 'a b', '[]', '"x"', '=')


@target
def options(rng: np.random.Generator, folder: Path) -> None:
    """Changes to a config by --cfg-options."""
    path = folder / 'config.py'
    path.write_bytes(sources()['config.py'])
    key = '.'.join(rng.choice(KEYS, int(rng.integers(1, 4))))
    load_config(path, [f'{key}{rng.choice(["=", "", "=="])}{rng.choice(VALUES)}'])


NOISE = ('x = (', 'y = undefined', '_base_ = ["nowhere.py"]', '\t\x01', 'train_cfg = 3')


@target
def config(rng: np.random.Generator, folder: Path) -> None:
    """A config file with a line of noise: never random Python, which could do anything."""
    path = folder / 'config.py'
    path.write_bytes(sources()['config.py'] + str(rng.choice(NOISE)).encode() + b'\n')
    load_config(path)


COMMANDS = ('train', 'test', 'infer', 'calibrate', 'logs', 'pseudo_labels', 'export')
WORDS = (
    'nowhere.py',
    '-1',
    '--split',
    'x',
    '--seed',
    '--cfg-options',
    'a=1',
    '',
    '--what',
    '--out',
)


@target
def flags(rng: np.random.Generator, folder: Path) -> None:
    """A command line of words that do not belong together; parsed, not run."""
    words = [str(word) for word in rng.choice(WORDS, int(rng.integers(0, 6)))]
    module = importlib.import_module(f'hetpose.commands.{rng.choice(COMMANDS)}')
    parser = argparse.ArgumentParser(description=module.__doc__)
    module.add_arguments(parser)
    quiet = io.StringIO()
    with contextlib.redirect_stderr(quiet), contextlib.redirect_stdout(quiet):
        try:
            parser.parse_args(words)
        except SystemExit as stop:
            if stop.code not in (0, 2):
                raise RuntimeError(f'exit code {stop.code} for {words}') from stop


SHAPES = ((4,), (4, 4), (4, 4, 4), (4, 2, 2), (4, 2), (0, 4), (3, 4), (4, 2, 2, 2), ())
SPECIAL = (0.0, 1.0, -1.0, 1e30, 1e-30, np.nan, np.inf)


def _array(rng: np.random.Generator) -> np.ndarray:
    shape = SHAPES[rng.integers(len(SHAPES))]
    values = rng.normal(size=shape) if rng.random() < 0.5 else np.full(shape, rng.choice(SPECIAL))
    return values.astype(rng.choice([np.float32, np.float64]))


@target
def tensors(rng: np.random.Generator, folder: Path) -> None:
    """Predictions of any shape and with any numbers."""
    mean = _array(rng)
    cov = np.tile(np.eye(4), (4, 1, 1)) if rng.random() < 0.5 else _array(rng)
    mask = None if rng.random() < 0.7 else _array(rng) > 0
    result = hetpose.calibration(mean, cov, _array(rng), mask)
    json.dumps(result.numbers())
    result.summary()


def failures(count: int, seed: int = 0) -> Iterator[tuple[str, int, BaseException]]:
    """Run ``count`` cases over all targets in turn; yield those that end in any other error."""
    names = sorted(TARGETS)
    sources()
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for index in range(count):
            kind = names[index % len(names)]
            rng = np.random.default_rng([seed, index])
            try:
                TARGETS[kind](rng, Path(name))
            except NAMED as error:
                if not str(error).strip() or '\n' in str(error).strip():
                    yield kind, index, error
            except Exception as error:
                yield kind, index, error
