"""The person detector that comes with hetpose: MoveNet MultiPose, at two sizes of the image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor

from hetpose import zoo
from hetpose.apis.convert import movenet
from hetpose.apis.inference.boxes import Detector, mmdet_detector
from hetpose.errors import UserError
from hetpose.models.heads.movenet_heads import MoveNetPose
from hetpose.ops.nms import nms

NAME = 'person'  # what `det_model` calls it
WHOLE_IMAGE = ('whole_image', 'whole-image')
MMDET_SCORE = 0.3
WEIGHTS = 'person_detector.pth'
SIDES = (256, 512)  # of the longer side: the first finds the large, the second the small
COUNT = 30  # people in one image at one size
SCORE = 0.12  # below it there are more false boxes than true ones
OVERLAP = 0.5  # of two boxes of one person
INSIDE, WEAK = 0.9, 0.3  # a box so far inside a better one that scores so much less is a part
MULTIPLE = 32  # of the network's input, the stride of its deepest features


class PersonDetector:
    """A function from a BGR image (H, W, 3) to the boxes (N, 5) of people, the best first.

    Args:
        network: A MoveNet of many people.
        score: Boxes with a lower score are left out.
        overlap: The worse of two boxes whose intersection over union is larger is left out.
        sides: The longer sides that the image is resized to.
    """

    def __init__(
        self,
        network: MoveNetPose,
        score: float = SCORE,
        overlap: float = OVERLAP,
        sides: Sequence[int] = SIDES,
    ) -> None:
        if not network.many:
            raise UserError('a person detector needs a MoveNet of many people, MultiPose')
        self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.score, self.overlap, self.sides = score, overlap, tuple(sides)

    @classmethod
    def shipped(cls, device: torch.device | str = 'cpu', score: float = SCORE) -> PersonDetector:
        """The detector with the weights that come with hetpose."""
        return cls.load(zoo.shipped(WEIGHTS), device, score)

    @classmethod
    def load(
        cls, path: str | Path, device: torch.device | str = 'cpu', score: float = SCORE
    ) -> PersonDetector:
        """The detector with weights that ``hetpose convert-movenet`` wrote."""
        return cls(movenet.load(path).to(device), score)

    def __call__(self, image: np.ndarray) -> np.ndarray:
        found = torch.cat([self._at_size(image, side) for side in self.sides])
        found = found[found[:, 4] >= self.score]
        return without_parts(found[nms(found[:, :4], found[:, 4], self.overlap)].cpu().numpy())

    @torch.no_grad()
    def _at_size(self, image: np.ndarray, side: int) -> Tensor:
        """Boxes (N, 5) in pixels of the image, found at one size of it."""
        height, width = image.shape[:2]
        scale = side / max(height, width)
        small = (max(1, round(width * scale)), max(1, round(height * scale)))
        way = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        resized = cv2.resize(image, small, interpolation=way)
        padded = np.zeros((_up(small[1]), _up(small[0]), 3), np.float32)
        padded[: small[1], : small[0]] = resized[..., ::-1]
        pixels = torch.from_numpy(padded).permute(2, 0, 1)[None]  # channels last in memory
        device = next(self.network.parameters()).device
        found = self.network.people(pixels.to(device), COUNT)
        back = torch.tensor([width / small[0], height / small[1]] * 2, device=device)
        limit = torch.tensor([width, height] * 2, device=device)
        boxes = torch.minimum(found.boxes[0] * back, limit)
        return torch.cat([boxes, found.scores[0, :, None]], dim=1)


def find_detector(
    model: str | Detector | None,
    weights: str | None,
    device: torch.device,
    categories: int | Sequence[int],
    score: float | None,
    nms_thr: float,
) -> Detector | None:
    """The detector that ``HetPoseInferencer`` is asked for; None takes the whole image."""
    if model is None or callable(model):
        return model
    if model == NAME:
        return PersonDetector.shipped(device, SCORE if score is None else score)
    if model in WHOLE_IMAGE:
        return None
    chosen = [categories] if isinstance(categories, int) else list(categories)
    score = MMDET_SCORE if score is None else score
    return mmdet_detector(model, weights, str(device), chosen, score, nms_thr)


def without_parts(boxes: np.ndarray) -> np.ndarray:
    """The boxes (N, 5), the best first, without faces and hands that were taken for people.

    Such a box lies inside a person's and has a far lower score. A child before an adult stays.
    """
    kept: list[np.ndarray] = []
    for box in boxes:
        low = np.array([np.maximum(box[:2], other[:2]) for other in kept]).reshape(-1, 2)
        high = np.array([np.minimum(box[2:4], other[2:4]) for other in kept]).reshape(-1, 2)
        shared = (high - low).clip(min=0).prod(-1)
        scores = np.array([other[4] for other in kept])
        inside = shared > INSIDE * np.prod(box[2:4] - box[:2])
        if not (inside & (box[4] < WEAK * scores)).any():
            kept.append(box)
    return np.array(kept).reshape(-1, 5)


def _up(length: int) -> int:
    return -(-length // MULTIPLE) * MULTIPLE
