"""Generated labels are read by mmpose's own data sets."""

import numpy as np
import pytest
from mmengine.registry import init_default_scope
from mmpose.registry import DATASETS

from hetpose.apis.fit.foreign import dataset_joints, innermost, labelled_dataset
from hetpose.benchmarks import wrapped
from hetpose.engine import launch

FORMATS = {
    'MobileNetV2': 17,
    'MobileNetV2, MPII': 16,
    'hand, regression': 21,
    'hand, MobileNetV2': 21,
    'animal, RTMPose-m': 17,
    'face, MobileNetV2': 68,
    'face, RTMPose-m': 98,
    'whole body, RTMPose-m': 133,
}


@pytest.mark.parametrize(('name', 'joints'), FORMATS.items())
def test_every_person_is_read_with_every_joint(name, joints, tmp_path):
    init_default_scope('mmpose')
    path = wrapped.packaged(wrapped.CONFIGS[name])
    dataset = innermost(launch.load_config(path).val_dataloader.dataset)
    assert len(dataset_joints(dataset)) == joints
    wrapped.write_labelled(dataset, tmp_path, 8)
    options = wrapped.data_options(dataset, tmp_path)
    built = DATASETS.build(labelled_dataset(launch.load_config(path, options)))
    assert len(built) == 8
    for person in range(len(built)):
        sample = built[person]['data_samples'].gt_instances
        assert sample.keypoints.shape == (1, joints, 2)
        seen = sample.keypoints_visible[0] > 0
        assert seen.sum() >= 2
        low, high = sample.bboxes[0, :2], sample.bboxes[0, 2:]
        inside = (sample.keypoints[0, seen] >= low - 1) & (sample.keypoints[0, seen] <= high + 1)
        assert inside[:, 0].all()
        assert inside.mean() > 0.9  # MPII moves its boxes down
    first, second = (built[i]['data_samples'].gt_instances.keypoints for i in (0, 1))
    assert not np.array_equal(first, second)
