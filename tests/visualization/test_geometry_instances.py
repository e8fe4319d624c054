"""Joints and covariances that the visualizer reads from instances."""

import numpy as np
from mmengine.structures import InstanceData
from mmpose.structures import PoseDataSample

from hetpose.visualization.geometry import enlarged, joint_covariances, joint_indices


def test_an_enlarged_sample_lies_on_the_enlarged_image() -> None:
    """Pixel i becomes the pixels f·i … f·i + f − 1, whose middle is f·i + (f − 1) / 2."""
    covariance = np.diag([1.0, 4.0, 9.0, 16.0])[None]
    people = InstanceData(
        keypoints=np.array([[[3.0, 5.0], [0.0, 0.0]]]),
        bboxes=np.array([[0.0, 0, 9, 9]]),
        covariances=covariance,
        keypoint_scores=np.ones((1, 2)),
    )
    sample = PoseDataSample(pred_instances=people)
    large = enlarged(sample, 4).pred_instances
    np.testing.assert_allclose(large.keypoints[0], [[13.5, 21.5], [1.5, 1.5]])
    np.testing.assert_allclose(large.covariances, 16 * covariance)
    np.testing.assert_allclose(large.keypoint_scores, 1)
    np.testing.assert_allclose(people.keypoints[0, 0], [3, 5])


def test_every_field_that_carries_a_covariance_gives_the_same_blocks() -> None:
    factor = np.random.default_rng(0).normal(size=(2, 6, 6))
    full = factor @ factor.swapaxes(-1, -2)
    blocks = np.stack([full[:, 2 * k : 2 * k + 2, 2 * k : 2 * k + 2] for k in range(3)], axis=1)
    fields = dict(keypoint_covariances=blocks, covariances=full, true_factor=factor)
    for name, value in fields.items():
        np.testing.assert_allclose(joint_covariances(InstanceData(**{name: value})), blocks)
    assert joint_covariances(InstanceData(keypoints=np.zeros((2, 3, 2)))) is None


def test_joints_have_the_numbers_that_the_model_names() -> None:
    keypoints = np.zeros((1, 2, 2))
    chosen = InstanceData(keypoints=keypoints, keypoint_indices=np.array([[3, 0]]))
    assert joint_indices(chosen, 2) == [3, 0]
    assert joint_indices(InstanceData(keypoints=keypoints), 2) == [0, 1]
