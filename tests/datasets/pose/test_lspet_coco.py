"""LSPET's limbs in COCO's order."""

import numpy as np
from mmpose.datasets.datasets.utils import parse_pose_metainfo

from hetpose.datasets.pose.lsp14 import dataset_info
from hetpose.datasets.pose.lspet_coco import LIMBS, LSPETCocoDataset


def test_every_limb_keeps_its_name():
    theirs = parse_pose_metainfo(dataset_info)['keypoint_id2name']
    ours = parse_pose_metainfo(dict(LSPETCocoDataset.METAINFO))['keypoint_id2name']
    for lsp, coco in enumerate(LIMBS):
        assert theirs[lsp] == ours[coco]


def test_what_is_not_labelled_is_not_visible():
    joints = np.arange(28.0).reshape(14, 2)
    visible = np.ones(14, bool)
    visible[3] = False
    box = np.float32([0, 0, 9, 9])
    record = LSPETCocoDataset._record(1, 'x.jpg', joints, visible, box)
    assert record['keypoints'].shape == (1, 17, 2)
    seen = record['keypoints_visible'][0] > 0
    assert set(np.flatnonzero(seen)) == set(LIMBS) - {LIMBS[3]}
    np.testing.assert_array_equal(record['keypoints'][0, LIMBS[0]], joints[0])
