"""The files that docs/flow.md lists are entered, in the order of the page.

The page keeps the files that a reader has to know; a file that is entered and not listed is no
error, a listed file that is not entered, or not in this order, is one.
"""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import cv2
import pytest
from helpers_inference import noise_image, tiny_model
from helpers_suite import write_table
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmengine.optim import OptimWrapper
from mmpose.registry import DATASETS, MODELS
from torch.optim import SGD

import hetpose
from hetpose.apis.inference.inferencer import HetPoseInferencer
from hetpose.engine import launch
from hetpose.engine.launch import build_runner

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(hetpose.__file__).parent
COUNTS = re.compile(r'at most (\d+) files, a photograph (\d+), a unit of a suite (\d+)')
FILE = re.compile(r'^\d+\. `([\w/]+\.py)`', re.MULTILINE)


def listed(title: str) -> list[str]:
    """The numbered files under a title of the page."""
    page = (ROOT / 'docs' / 'flow.md').read_text(encoding='utf-8')
    section = page.split(f'## {title}\n')[1].split('\n## ')[0]
    return FILE.findall(section)


def first_visits(call: Callable[[], Any]) -> list[str]:
    """The files of the package whose functions a call enters, in the order of the first entry."""
    seen: dict[str, None] = {}
    root = f'{PACKAGE}{os.sep}'

    def record(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code  # plain strings: this runs at every call of the whole process
        name = code.co_filename
        entered = event == 'call' and name not in seen and name.startswith(root)
        if entered and code.co_name != '<module>':
            seen[name] = None

    sys.setprofile(record)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [Path(name).relative_to(PACKAGE).as_posix() for name in seen]


def training_sample(folder: Path) -> Callable[[], Any]:
    """One training step on rendered figures with a Taylor-induced covariance."""
    config = launch.load_config(
        ROOT / 'configs' / 'pose' / 'td-anchored_vit-96x4_1xb32-24e_synthetic-128x128.py'
    )
    config.model.head.covariance = dict(type='TaylorInducedCovariance', floor=1e-3)
    config.model.head.objective = dict(type='NLLObjective')
    dataset = DATASETS.build(config.train_dataloader.dataset)
    model = MODELS.build(config.model).train()
    optimiser = OptimWrapper(SGD(model.parameters(), lr=1e-4))
    return lambda: model.train_step(pseudo_collate([dataset[0], dataset[1]]), optimiser)


def photograph(folder: Path) -> Callable[[], Any]:
    """One image with a picture and a JSON file."""
    inferencer = HetPoseInferencer(tiny_model(folder))
    cv2.imwrite(str(folder / 'a.png'), noise_image())
    return lambda: list(inferencer(str(folder / 'a.png'), out_dir=folder / 'out'))


def unit(folder: Path) -> Callable[[], Any]:
    """Two epochs of a method of the UCI suite on a small table, and its test."""
    leaf = ROOT / 'configs' / 'uci' / 'nll.py'
    table = str(write_table(folder / 'table.csv'))

    def run() -> None:
        config: Config = launch.load_config(leaf)
        config.merge_from_dict({'epochs': 2, 'dataset': table, 'work_dir': str(folder / 'run')})
        config.log_level = 'ERROR'
        runner = build_runner(config)
        runner.train()
        runner.test()

    return run


WAYS = {
    'One training sample': training_sample,
    'One photograph': photograph,
    'One unit of a suite': unit,
}


def most_files(title: str) -> int:
    """How many files the page allows for a journey."""
    page = ' '.join((ROOT / 'docs' / 'flow.md').read_text(encoding='utf-8').split())
    (counts,) = COUNTS.findall(page)
    return int(counts[list(WAYS).index(title)])


@pytest.mark.parametrize('title', WAYS)
def test_the_page_lists_files_in_the_order_of_their_first_entry(
    title: str, tmp_path: Path
) -> None:
    names = listed(title)
    assert len(names) > 10
    visited = first_visits(WAYS[title](tmp_path))
    print('\n'.join(visited))  # what to write where the page is wrong
    assert set(names) <= set(visited), f'never entered: {sorted(set(names) - set(visited))}'
    assert names == [name for name in visited if name in names]
    assert len(visited) <= most_files(title), 'the way became longer'
