"""Images are normalised, maps are not touched."""

import torch
from mmpose.structures import PoseDataSample

from hetpose.models.data_preprocessor import FeaturePreprocessor


def preprocessor() -> FeaturePreprocessor:
    return FeaturePreprocessor(mean=[127.5] * 3, std=[127.5] * 3, bgr_to_rgb=True)


def test_images() -> None:
    image = torch.zeros(3, 4, 4, dtype=torch.uint8)
    image[0] = 255  # blue
    data = dict(inputs=[image], data_samples=[PoseDataSample()])
    inputs = preprocessor()(data)['inputs']
    assert inputs[0, :, 0, 0].tolist() == [-1, -1, 1]


def test_maps_pass_through() -> None:
    maps = [torch.randn(7, 1, 2).half() for _ in range(3)]
    samples = [PoseDataSample() for _ in maps]
    data = preprocessor()(dict(inputs=maps, data_samples=samples))
    assert data['inputs'].dtype == torch.float32
    torch.testing.assert_close(data['inputs'], torch.stack(maps).float())
    assert len(data['data_samples']) == 3
