"""MPII's persons with LSP's joints, and COCO-format data through mmpose's own class."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mmengine.registry import init_default_scope
from mmpose.registry import DATASETS

from hetpose.datasets.pose.mpii14 import MPII14Dataset, to_lsp14
from hetpose.errors import UserError
from hetpose.paths import data_root

init_default_scope('mmpose')
SIZE = dict(input_size=(64, 64), use_udp=True)
PIPELINE = [
    dict(type='LoadPoseImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='CovarianceTopdownAffine', **SIZE),
    dict(type='GenerateTarget', encoder=dict(type='SoftArgmaxCodec', input_size=(64, 64))),
    dict(type='PackPoseInputs'),
]


def person(**changes):
    joints = np.random.default_rng(0).uniform(10, 200, (16, 2))
    record = dict(
        joints=joints.tolist(), joints_vis=[1] * 16, image='000001.jpg', scale=1.0, center=[80, 90]
    )
    return {**record, **changes}


def test_joints_are_mapped_by_name_and_the_head_lowered() -> None:
    init = DATASETS.build(dict(type='MpiiDataset', ann_file='', lazy_init=True))
    theirs = init.metainfo['keypoint_name2id']
    points = np.random.default_rng(0).normal(size=(16, 2))
    ours = to_lsp14(points)
    renamed = {'neck': 'upper_neck'}
    names = {v['name']: k for k, v in MPII14Dataset.METAINFO['keypoint_info'].items()}
    for name, index in names.items():
        if name != 'head':
            np.testing.assert_array_equal(ours[index], points[theirs[renamed.get(name, name)]])
    top, neck = points[theirs['head_top']], points[theirs['upper_neck']]
    np.testing.assert_allclose(ours[names['head']], 0.8 * top + 0.2 * neck)


def test_persons_without_all_joints_are_left_out(tmp_path, monkeypatch) -> None:
    lines = []
    monkeypatch.setattr(
        'hetpose.datasets.pose.mpii14.print_log', lambda text, **_: lines.append(text)
    )
    partial = [1] * 16
    partial[10] = 0
    no_pelvis = [1] * 16
    no_pelvis[6] = 0  # LSP has no pelvis, so this person is whole
    people = [person(), person(joints_vis=partial), person(joints_vis=no_pelvis)]
    (tmp_path / 'a.json').write_text(json.dumps(people))
    dataset = MPII14Dataset(ann_file='a.json', data_root=tmp_path)
    assert [dataset.get_data_info(i)['id'] for i in range(len(dataset))] == [0, 2]
    assert '2 persons with all 14 joints; left out: 1 without' in lines[0]
    info = dataset.get_data_info(0)
    assert info['keypoints'].shape == (1, 14, 2)
    assert info['bbox'].shape == (1, 4)
    with pytest.raises(UserError, match='MPII annotations not found'):
        MPII14Dataset(ann_file='b.json', data_root=tmp_path)


@pytest.mark.skipif(not data_root('mpii_sample').exists(), reason='the MPII sample is not here')
def test_the_mpii_sample_goes_through_the_pipeline() -> None:
    root = str(data_root('mpii_sample'))
    dataset = MPII14Dataset(
        ann_file='test_mpii.json', data_root=root, data_prefix=dict(img=''), pipeline=PIPELINE
    )
    assert len(dataset) >= 1
    for index in range(len(dataset)):
        sample = dataset[index]
        assert sample['inputs'].shape == (3, 64, 64)
        labels = sample['data_samples'].gt_instance_labels.keypoint_labels
        assert labels.shape == (1, 14, 2)


@pytest.mark.skipif(not data_root('coco_sample').exists(), reason='the COCO sample is not here')
def test_the_coco_sample_goes_through_the_pipeline() -> None:
    inner = dict(
        type='CocoDataset',
        ann_file='test_coco.json',
        data_root=str(data_root('coco_sample')),
        data_prefix=dict(img=''),
    )
    dataset = DATASETS.build(dict(type='PseudoLabelDataset', dataset=inner, pipeline=PIPELINE))
    sample = dataset[0]
    assert sample['data_samples'].gt_instance_labels.keypoint_labels.shape == (1, 17, 2)
    assert dataset.metainfo['num_keypoints'] == 17
