"""The detector that comes with hetpose finds people where they are."""

import numpy as np
import pytest
import torch
from helpers_inference import noise_image

from hetpose.apis.inference.inferencer import HetPoseInferencer
from hetpose.apis.inference.people import PersonDetector, without_parts
from hetpose.apis.loading import PoseModel
from hetpose.errors import UserError
from hetpose.models.heads.movenet_heads import MoveNetPose
from hetpose.ops.centre_decoding import People


class OnePerson:
    """A network whose person is the bright part of its input."""

    many = True
    seen: list[tuple[int, int]]

    def __init__(self) -> None:
        self.seen = []

    def to(self, **_) -> 'OnePerson':
        return self

    def parameters(self):
        return iter([torch.zeros(1)])

    def people(self, images: torch.Tensor, count: int) -> People:
        self.seen.append(tuple(images.shape[-2:]))
        y, x = torch.nonzero(images[0].mean(0) > 128).T
        box = torch.stack([x.min(), y.min(), x.max() + 1, y.max() + 1]).float()
        boxes = torch.stack([box, box + 1000])[None]
        scores = torch.tensor([[0.9 if max(images.shape[-2:]) == 256 else 0.8, 0.01]])
        return People(torch.zeros(1, 2, 17, 2), torch.zeros(1, 2, 17), boxes, scores)


@pytest.mark.parametrize('size', [(300, 500), (1000, 400), (90, 120)])
def test_boxes_come_back_in_pixels_of_the_image(size: tuple[int, int]) -> None:
    height, width = size
    image = np.zeros((height, width, 3), np.uint8)
    truth = np.array([0.2 * width, 0.3 * height, 0.6 * width, 0.9 * height]).astype(int)
    image[truth[1] : truth[3], truth[0] : truth[2]] = 255
    network = OnePerson()
    found = PersonDetector(network)(image)
    assert found.shape == (1, 5)  # of two sizes, the better one; the weak one is left out
    np.testing.assert_allclose(found[0, :4], truth, atol=max(size) / 256)
    assert found[0, 4] == pytest.approx(0.9)
    assert all(side % 32 == 0 for shape in network.seen for side in shape)
    assert [max(shape) for shape in network.seen] == [256, 512]


def test_a_part_of_somebody_is_not_somebody() -> None:
    person, face = [0, 0, 100, 200, 0.8], [30, 10, 70, 50, 0.2]
    child, stranger = [10, 80, 60, 200, 0.5], [300, 10, 340, 50, 0.2]
    boxes = np.array([person, child, face, stranger])
    np.testing.assert_allclose(without_parts(boxes), boxes[[0, 1, 3]])
    assert without_parts(boxes[:0]).shape == (0, 5)


def test_noise_is_nobody() -> None:
    assert PersonDetector.shipped()(noise_image()).shape == (0, 5)


def test_a_network_of_one_person_is_refused() -> None:
    with pytest.raises(UserError, match='MultiPose'):
        PersonDetector(MoveNetPose(0.5))


def test_the_inferencer_takes_it_by_its_name(model: PoseModel) -> None:
    inferencer = HetPoseInferencer(model, det_model='person')
    assert isinstance(inferencer.detector, PersonDetector)
    (result,) = inferencer(noise_image())
    assert result['predictions'] == [[]]
