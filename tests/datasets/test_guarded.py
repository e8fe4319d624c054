"""Whatever lies in a data folder, every consumer of a data set ends with a result or one line."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from helpers_coco import annotation, coco_config, write_coco, write_people
from mmengine.registry import init_default_scope

from hetpose.apis.calibration.predict import predict_split
from hetpose.apis.data.pseudo_labels import make_pseudo_labels
from hetpose.datasets.guarded import GuardedDataset, build_guarded
from hetpose.datasets.quarantine import FILE_NAME, Quarantine
from hetpose.engine import launch
from hetpose.engine.loaders import guarded_loader, quarantine_for
from hetpose.errors import UserError

COUNT = 16


def _png(path: Path, shape: tuple, dtype: type = np.uint8) -> None:
    path.with_suffix('.png').unlink(missing_ok=True)
    cv2.imwrite(str(path.with_suffix('.png')), np.full(shape, 7, dtype))
    path.with_suffix('.png').replace(path)


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to('nowhere')


IMAGES: dict[str, tuple[Callable[[Path], object], bool]] = {  # what is done; is it still usable
    'whole': (lambda p: None, True),
    'absent': (lambda p: p.unlink(), False),
    'empty': (lambda p: p.write_bytes(b''), False),
    'text': (lambda p: p.write_text('no image'), False),
    'zeros': (lambda p: p.write_bytes(bytes(2000)), False),
    'header alone': (lambda p: p.write_bytes(p.read_bytes()[:20]), False),
    'a pipe': (_fifo, False),
    'a folder': (_folder, False),
    'a dangling link': (_dangling, False),
    'grey': (lambda p: _png(p, (48, 48)), True),
    'with transparency': (lambda p: _png(p, (48, 48, 4)), True),
    'of 16 bits': (lambda p: _png(p, (48, 48, 3), np.uint16), True),
    'of one pixel': (lambda p: _png(p, (1, 1, 3)), True),
}


@pytest.fixture(scope='module')
def source(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp('coco')
    write_coco(folder, COUNT)
    init_default_scope('mmpose')
    return folder


@pytest.fixture
def folder(source: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(source, tmp_path / 'data'))


def listed(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize('kind', IMAGES)
@pytest.mark.parametrize('test_mode', [False, True], ids=['train', 'test'])
def test_an_image_of_any_kind(folder: Path, tmp_path: Path, kind: str, test_mode: bool) -> None:
    damage, usable = IMAGES[kind]
    damage(folder / '03.jpg')
    config = coco_config(folder, tmp_path).train_dataloader.dataset
    config.test_mode = test_mode
    quarantine = Quarantine(tmp_path / FILE_NAME, 'data')
    dataset = build_guarded(config, quarantine)
    sample = dataset[3]
    if usable or not test_mode:
        assert sample['inputs'].shape == (3, 32, 32)
    else:
        assert sample is None
    lines = listed(tmp_path / FILE_NAME)
    assert len(lines) == (0 if usable else 1)
    assert all('03.jpg' in line['sample'] for line in lines)
    assert dataset[4] is not None


def test_the_tools_go_on_without_bad_images(folder: Path, tmp_path: Path) -> None:
    for index, kind in enumerate(['text', 'a pipe', 'absent', 'empty']):  # a whole batch
        IMAGES[kind][0](folder / f'{index:02d}.jpg')
    work = tmp_path / 'work'
    config = coco_config(folder, work)
    runner = launch.build_runner(config)
    launch.build_dataloaders(runner, 'train', 'val', 'test')
    runner.train()
    metrics = runner.test()
    assert np.isfinite(metrics['pose/nll'])
    found = listed(work / FILE_NAME)
    assert {line['split'] for line in found} == {'train', 'val', 'test'}
    assert sum(line['split'] == 'test' for line in found) == 4

    predictions = predict_split(runner.model.eval(), config, 'val', folder=tmp_path / 'out')
    assert len(predictions) == COUNT - 4
    assert len(listed(tmp_path / 'out' / FILE_NAME)) == 4
    labels = make_pseudo_labels(config, tmp_path / 'labels.npz', options={'k': 4}, progress=False)
    assert len(labels.ids) == COUNT - 4
    assert len(listed(tmp_path / 'labels.quarantine.jsonl')) == 4


def test_a_bad_image_is_fatal_by_option_also_in_a_worker(folder: Path, tmp_path: Path) -> None:
    (folder / '03.jpg').write_text('no image')
    config = coco_config(folder, tmp_path / 'work')
    config.bad_samples = 'fail'
    config.test_dataloader.num_workers = 1
    loader = guarded_loader(config.test_dataloader, quarantine_for(config, 'test'))
    with pytest.raises(UserError, match=r'^test data: id 3, img_path .*03\.jpg: .*') as error:
        list(loader)
    assert '\n' not in str(error.value)


def test_too_many_bad_images_end_the_run(folder: Path, tmp_path: Path) -> None:
    for path in sorted(folder.glob('*.jpg'))[:12]:
        path.write_text('no image')
    config = coco_config(folder, tmp_path / 'work')
    loader = guarded_loader(config.test_dataloader, quarantine_for(config, 'test'))
    with pytest.raises(UserError, match='11 of 16 samples are bad'):
        list(loader)


def _with(index: int, **changes) -> list[dict]:
    people = [annotation(i) for i in range(COUNT)]
    people[index] |= changes
    return people


NAN = float('nan')
PEOPLE = {
    'a NaN keypoint': dict(keypoints=[NAN, 5, 2] * 4),
    'a keypoint at 1e30': dict(keypoints=[1e30, 5, 2] * 4),
    'a NaN box': dict(bbox=[NAN, 0, 10, 10]),
    'a box of text': dict(bbox='none'),
    'a box of three numbers': dict(bbox=[1, 2, 3]),
    'too few keypoints': dict(keypoints=[1, 2, 2]),
    'odd keypoints': dict(keypoints=[1.0] * 11),
    'keypoints of text': dict(keypoints=['a'] * 12),
    'no keypoints': dict(keypoints=[]),
}


@pytest.mark.parametrize('kind', PEOPLE)
def test_a_damaged_annotation_is_left_out_by_name(folder: Path, tmp_path: Path, kind: str) -> None:
    write_people(folder, _with(5, **PEOPLE[kind]))
    quarantine = Quarantine(tmp_path / FILE_NAME, 'train')
    dataset = build_guarded(coco_config(folder, tmp_path).train_dataloader.dataset, quarantine)
    assert isinstance(dataset, GuardedDataset)
    assert len(dataset) == COUNT - 1
    (line,) = listed(tmp_path / FILE_NAME)
    assert line['sample'] == 'annotation 5, image 05.jpg'
    assert line['reason']


FILES = {
    'no JSON': lambda p: p.write_text('{'),
    'empty': lambda p: p.write_text(''),
    'a list': lambda p: p.write_text('[]'),
    'a number': lambda p: p.write_text('3'),
    'no images': lambda p: p.write_text('{"annotations": []}'),
    'images of text': lambda p: p.write_text('{"images": ["a"], "annotations": []}'),
    'binary': lambda p: p.write_bytes(os.urandom(500)),
    'nothing inside': lambda p: p.write_text('{"images": [], "annotations": []}'),
    'absent': lambda p: p.unlink(),
    'a pipe': _fifo,
    'a folder': _folder,
}


@pytest.mark.parametrize('kind', FILES)
def test_a_damaged_annotation_file_is_one_line(folder: Path, tmp_path: Path, kind: str) -> None:
    FILES[kind](folder / 'people.json')
    config = coco_config(folder, tmp_path / 'work')
    calls = [
        lambda: guarded_loader(config.train_dataloader, quarantine_for(config, 'train')),
        lambda: predict_split(torch.nn.Identity(), config, 'val'),
        lambda: make_pseudo_labels(config, tmp_path / 'labels.npz', progress=False),
    ]
    for call in calls:
        with pytest.raises(UserError, match=r'people\.json') as error:
            call()
        assert '\n' not in str(error.value)


def test_a_missing_image_size_is_named_by_sample(folder: Path, tmp_path: Path) -> None:
    images = [dict(id=i, file_name=f'{i:02d}.jpg') for i in range(COUNT)]
    write_people(folder, [annotation(i) for i in range(COUNT)], images=images)
    with pytest.raises(UserError, match=r"no usable sample: 16 .* annotation 0.*'width'") as error:
        build_guarded(coco_config(folder, tmp_path).train_dataloader.dataset, Quarantine())
    assert 'people.json' in str(error.value)


def test_a_hook_may_exchange_the_pipeline(folder: Path, tmp_path: Path) -> None:
    from mmengine.dataset import Compose

    config = coco_config(folder, tmp_path).train_dataloader.dataset
    dataset = build_guarded(config, Quarantine())
    dataset.pipeline = Compose(config.pipeline[:3])
    assert 'inputs' not in dataset[0]
    assert type(dataset.dataset.pipeline.transforms[0]).__name__ == 'CheckSample'
