"""What is drawn of mmpose's instances, and the same instances on an enlarged image.

Axes: N people, K joints.
"""

from __future__ import annotations

import numpy as np
from mmengine.structures import InstanceData
from mmpose.structures import PoseDataSample

from hetpose.ops.blocks import joint_blocks
from hetpose.visualization.drawing import Colour
from hetpose.visualization.palette import PERSON_COLOURS


def enlarged(sample: PoseDataSample, factor: int) -> PoseDataSample:
    """The sample on an image enlarged by a factor f: the middle of pixel i moves to f·i + (f−1)/2.

    The given sample stays as it is.
    """
    found = PoseDataSample(metainfo=sample.metainfo)
    shift = (factor - 1) / 2
    powers = {'keypoint_covariances': 2, 'covariances': 2, 'true_factor': 1}
    for kind in ('gt_instances', 'pred_instances'):
        if kind not in sample:
            continue
        instances = InstanceData()
        for name, value in sample.get(kind).items():
            if name in ('keypoints', 'transformed_keypoints', 'bboxes'):
                value = np.asarray(value) * factor + shift
            elif name in powers:
                value = np.asarray(value) * factor ** powers[name]
            instances.set_field(value, name)
        found.set_field(instances, kind)
    for kind in ('gt_fields', 'pred_fields'):
        if kind in sample:
            found.set_field(sample.get(kind), kind)
    return found


def person_colour(instances: InstanceData, index: int) -> Colour | None:
    """The colour of a person's bones; None where he is alone, and his sides have theirs."""
    if len(instances.keypoints) < 2:
        return None
    number = int(instances.track_ids[index]) if 'track_ids' in instances else index
    return PERSON_COLOURS[number % len(PERSON_COLOURS)]


def joint_indices(instances: InstanceData, count: int) -> list[int]:
    """The data set's number of each drawn joint (K,): a model may predict some of them only."""
    if 'keypoint_indices' in instances and len(instances.keypoint_indices):
        return [int(k) for k in np.asarray(instances.keypoint_indices)[0]]
    return list(range(count))


def joint_covariances(instances: InstanceData) -> np.ndarray | None:
    """The 2×2 covariance of every joint, (N, K, 2, 2), from whichever field carries it."""
    if 'keypoint_covariances' in instances:
        return np.asarray(instances.keypoint_covariances)
    if 'covariances' in instances:
        return joint_blocks(np.asarray(instances.covariances))
    if 'true_factor' in instances and 'transformed_keypoints' not in instances:
        factor = np.asarray(instances.true_factor, dtype=np.float64)
        return joint_blocks(factor @ factor.swapaxes(-1, -2))
    return None
