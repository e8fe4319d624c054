"""The settings of a picture reach the visualizer."""

from pathlib import Path

import numpy as np
from mmengine.structures import InstanceData
from mmpose.structures import PoseDataSample

from hetpose.apis.inference.inputs import Picture
from hetpose.apis.inference.outputs import Drawing
from hetpose.visualization import HetPoseVisualizer

PEOPLE = InstanceData(
    keypoints=np.array([[[30.0, 20.0], [30.0, 60.0]]]),
    keypoint_covariances=np.tile(9 * np.eye(2), (1, 2, 1, 1)),
    keypoint_scores=np.ones((1, 2)),
)
SAMPLE = PoseDataSample(pred_instances=PEOPLE)
BLUE = np.zeros((80, 60, 3), np.uint8) + np.array([200, 0, 0], np.uint8)  # BGR


def drawn(**settings) -> np.ndarray | None:
    """A picture of two joints on a blue image."""
    visualizer = HetPoseVisualizer(name='drawing', legend=False)
    visualizer.set_dataset_meta(
        dict(keypoint_id2name={0: 'left_hip', 1: 'left_knee'}, skeleton_links=[(0, 1)])
    )
    picture = Picture(0, 'a.png', Path('a.png'), BLUE)
    return Drawing(**settings).draw(visualizer, picture, SAMPLE)


def test_no_picture_where_none_is_wanted() -> None:
    assert drawn(wanted=False) is None


def test_the_image_is_rgb_and_a_black_background_leaves_it_out() -> None:
    assert drawn(wanted=True)[0, 0].tolist() == [0, 0, 200]
    assert drawn(wanted=True, black_background=True)[0, 0].tolist() == [0, 0, 0]


def test_a_higher_coverage_draws_larger_ellipses() -> None:
    background = BLUE[0, 0, ::-1]
    changed = [
        (drawn(wanted=True, coverage=level) != background).any(-1).sum() for level in (0.1, 0.99)
    ]
    assert changed[0] < changed[1]
