"""What mmpose's own API does with our models, and beside numpy 2."""

import numpy as np
import pytest
from helpers_inference import noise_image, write_tiny
from mmengine.structures import InstanceData
from mmpose.apis import MMPoseInferencer
from mmpose.structures import split_instances
from mmpose.visualization import PoseLocalVisualizer


def test_mmpose_inferencer_returns_the_covariances(tmp_path) -> None:
    config, checkpoint = write_tiny(tmp_path)
    with config.open('a') as file:
        file.write("\nvisualizer = dict(type='PoseLocalVisualizer')\n")
    inferencer = MMPoseInferencer(
        pose2d=str(config), pose2d_weights=str(checkpoint), det_model='whole_image', device='cpu'
    )
    (person,) = next(inferencer(noise_image()))['predictions'][0]
    full = np.array(person['full_covariance'])
    assert full.shape == (8, 8)
    assert np.linalg.eigvalsh(full).min() > 0
    blocks = full.reshape(4, 2, 4, 2)[range(4), :, range(4)]
    assert np.allclose(person['covariance'], blocks)


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
