"""A model that predicts some joints only is judged and drawn by those joints."""

import numpy as np
import pytest
import torch
from helpers_pose import JOINTS, estimator, sample
from mmengine.structures import InstanceData
from mmpose.structures import PoseDataSample

from hetpose.errors import UserError
from hetpose.evaluation.metrics import CalibrationMetric, HeteroscedasticPoseMetric
from hetpose.evaluation.metrics.calibration import read_sample
from hetpose.evaluation.selection import predicted_joints
from hetpose.visualization import HetPoseVisualizer

CHOSEN = [3, 1]
META = dict(
    keypoint_id2name={0: 'left_wrist', 1: 'right_wrist', 2: 'neck', 3: 'left_hip'},
    skeleton_links=[(0, 2), (1, 3), (2, 3)],
)


def predict(chosen: list[int] | None) -> list[PoseDataSample]:
    """Predictions of one model on the same crops, of all joints or of the chosen ones."""
    torch.manual_seed(0)
    test_cfg = dict(flip_test=False) | ({'output_keypoint_indices': chosen} if chosen else {})
    model = estimator(test_cfg).eval()
    batch = [sample(seed) for seed in range(4)]
    for made in batch:
        made.gt_instances.true_factor = np.eye(2 * JOINTS, dtype=np.float32)[None]
    inputs = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return model.predict(inputs, batch)


def test_the_gaussians_are_those_of_the_chosen_joints() -> None:
    rows = np.array([6, 7, 2, 3])
    for whole, part in zip(predict(None), predict(CHOSEN), strict=True):
        assert part.pred_instances.keypoint_indices.tolist() == [CHOSEN]
        assert 'keypoint_indices' not in whole.pred_instances
        all_joints, some = read_sample(whole.to_dict()), read_sample(part.to_dict())
        for name in ('mean', 'target', 'mask'):
            np.testing.assert_allclose(getattr(some, name), getattr(all_joints, name)[:, rows])
        np.testing.assert_allclose(some.covariance, all_joints.covariance[:, rows][:, :, rows])


def test_the_metrics_name_the_chosen_joints() -> None:
    samples = [made.to_dict() for made in predict(CHOSEN)]
    pose = HeteroscedasticPoseMetric(heatmap_size=(16, 16), head_joints=(0, 2))
    calibration = CalibrationMetric(per_part=True)
    numbers = {}
    for metric in (pose, calibration):
        metric.dataset_meta = META
        metric.process({}, samples)
        numbers |= metric.evaluate(len(samples))
    assert {'pose/tac_left_hip', 'pose/tac_right_wrist', 'pose/pckh_50'} <= numbers.keys()
    assert 'pose/tac_neck' not in numbers
    assert np.isfinite(numbers['pose/kl'])
    assert 'calibration/left_hip/nll' in numbers


def test_a_model_of_other_joints_is_named() -> None:
    with pytest.raises(UserError, match='predicts 3 joints and the data have 4'):
        predicted_joints(dict(keypoints=np.zeros((1, 3, 2))), 4)


def test_the_picture_shows_the_chosen_joints_in_their_own_colours() -> None:
    visualizer = HetPoseVisualizer('chosen')
    visualizer.panels = ('correlation',)
    visualizer.set_dataset_meta(META)
    image = np.zeros((200, 200, 3), np.uint8)
    points = np.array([[50.0, 60.0], [150.0, 60.0], [100.0, 20.0], [60.0, 150.0]])
    covariance = np.diag(np.arange(1.0, 9.0)) * 4
    rows = np.array([6, 7, 2, 3])
    some = PoseDataSample()
    some.pred_instances = InstanceData(
        keypoints=points[None, CHOSEN],
        keypoints_visible=np.ones((1, 2)),
        covariances=covariance[None, rows][:, :, rows],
        keypoint_indices=np.array([CHOSEN]),
    )
    drawn = visualizer.add_datasample('x', image, some, draw_gt=False)
    # The same from all joints, two of which are not shown: links, sides and ellipses agree.
    visualizer.panels = ()
    whole = PoseDataSample()
    whole.pred_instances = InstanceData(
        keypoints=points[None],
        keypoints_visible=np.array([[0.0, 1.0, 0.0, 1.0]]),
        covariances=covariance[None],
    )
    expected = visualizer.add_datasample('x', image, whole, draw_gt=False)
    legend = np.s_[:150, :]  # the legend at the bottom names the sides of all joints
    np.testing.assert_array_equal(drawn[:, :200][legend], expected[legend])
