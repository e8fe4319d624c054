"""mmpose's own API works with our models, and with numpy 2."""

import numpy as np
import pytest
import torch
from helpers_inference import noise_image
from mmengine.structures import InstanceData
from mmpose.apis import MMPoseInferencer
from mmpose.structures import split_instances
from mmpose.visualization import PoseLocalVisualizer

from hetpose.apis import load_pose_model
from hetpose.paths import find_config


def test_mmpose_inferencer_returns_the_covariances(tmp_path) -> None:
    config = find_config('pose/td-hybrid_vit-96x4_1xb32-8e_synthetic-128x128')
    model = load_pose_model(config)
    content = {'state_dict': model.network.state_dict(), 'meta': {'dataset_meta': model.meta}}
    torch.save(content, tmp_path / 'a.pth')
    inferencer = MMPoseInferencer(str(config), str(tmp_path / 'a.pth'), det_model='whole_image')
    (person,) = next(inferencer(noise_image()))['predictions'][0]
    full = np.array(person['full_covariance'])
    assert full.shape == (28, 28)
    assert np.linalg.eigvalsh(full).min() > 0
    blocks = full.reshape(14, 2, 14, 2)[range(14), :, range(14)]
    assert np.allclose(person['covariance'], blocks)


def test_tails_and_probabilities_are_carried() -> None:
    instances = InstanceData(
        keypoints=np.zeros((2, 3, 2)),
        keypoint_scores=np.ones((2, 3)),
        keypoint_probabilities=np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]),
        keypoint_covariances=np.tile(np.eye(2), (2, 3, 1, 1)),
        covariances=np.tile(np.eye(6), (2, 1, 1)),
        degrees_of_freedom=np.array([3.0, 5.0]),
    )
    people = split_instances(instances)
    assert [person['degrees_of_freedom'] for person in people] == [3.0, 5.0]
    assert people[1]['keypoint_probabilities'] == [0.4, 0.5, 0.6]


def test_a_model_without_covariances_is_as_before() -> None:
    instances = InstanceData(keypoints=np.zeros((1, 3, 2)), keypoint_scores=np.ones((1, 3)))
    assert split_instances(instances) == [
        dict(keypoints=[[0.0, 0.0]] * 3, keypoint_scores=[1.0] * 3)
    ]
    assert split_instances(None) == []


@pytest.mark.parametrize('radius', [3, np.array([3]), np.array([3.0])])
def test_a_radius_may_be_an_array_of_one(radius) -> None:
    visualizer = PoseLocalVisualizer(backend='opencv')
    visualizer.set_image(np.zeros((20, 20, 3), np.uint8))
    visualizer.draw_circles(np.array([10.0, 10.0]), radius=radius, face_colors=(255, 0, 0))
    drawn = visualizer.get_image()[..., 0] > 0
    assert drawn.sum(axis=0).max() == 7  # the diameter
