"""COCO's people with LSP's joints: the right ones, and only people who have some."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from mmengine.registry import init_default_scope
from mmpose.registry import DATASETS

from hetpose.datasets.guarded import _annotations_into
from hetpose.datasets.pose.coco14 import COCO14Dataset
from hetpose.datasets.quarantine import Quarantine
from hetpose.errors import UserError

init_default_scope('mmpose')


def person(number: int, visible: np.ndarray) -> dict:
    joints = np.random.default_rng(number).uniform(10, 90, (17, 2))
    rows = np.column_stack([joints * (visible[:, None] > 0), visible])
    return dict(
        id=number,
        image_id=1,
        category_id=1,
        iscrowd=0,
        area=900.0,
        num_keypoints=int((visible > 0).sum()),
        bbox=[5.0, 5.0, 90.0, 90.0],
        keypoints=rows.flatten().tolist(),
    )


def write(folder: Path, people: list[dict]) -> None:
    image = dict(id=1, file_name='a.jpg', width=100, height=100)
    category = dict(id=1, name='person', keypoints=[str(k) for k in range(17)], skeleton=[])
    content = dict(images=[image], annotations=people, categories=[category])
    (folder / 'people.json').write_text(json.dumps(content))


def test_joints_are_those_of_the_same_name_and_neck_and_head_are_missing(tmp_path: Path) -> None:
    whole, face = np.full(17, 2), np.zeros(17)
    face[:5] = 2
    hidden = whole.copy()
    hidden[16] = 0  # right ankle
    write(tmp_path, [person(1, whole), person(2, face), person(3, hidden)])
    dataset = COCO14Dataset(ann_file='people.json', data_root=tmp_path, data_prefix=dict(img=''))
    assert [dataset.get_data_info(i)['id'] for i in range(len(dataset))] == [1, 3]
    theirs = DATASETS.build(dict(type='CocoDataset', ann_file='', lazy_init=True)).metainfo
    ours = dataset.metainfo
    info = dataset.get_data_info(0)
    joints = np.asarray(person(1, whole)['keypoints']).reshape(17, 3)[:, :2]
    for index, name in ours['keypoint_id2name'].items():
        if name in theirs['keypoint_name2id']:
            expected = joints[theirs['keypoint_name2id'][name]]
            np.testing.assert_allclose(info['keypoints'][0, index], expected, rtol=1e-6)
            assert info['keypoints_visible'][0, index] == 1
        else:
            assert name in ('neck', 'head')
            assert info['keypoints_visible'][0, index] == 0
    ankle = ours['keypoint_name2id']['right_ankle']
    assert dataset.get_data_info(1)['keypoints_visible'][0].tolist() == [
        float(k < 12 and k != ankle) for k in range(14)
    ]


def test_it_is_no_bad_sample_for_a_guarded_loader(tmp_path: Path) -> None:
    write(tmp_path, [person(1, np.full(17, 2))])
    quarantine = Quarantine(action='fail')
    with _annotations_into(quarantine):
        kind = dict(img='')
        dataset = COCO14Dataset(ann_file='people.json', data_root=tmp_path, data_prefix=kind)
    assert len(dataset) == 1


def test_absent_annotations_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match='COCO annotations not found'):
        COCO14Dataset(ann_file='b.json', data_root=tmp_path)
