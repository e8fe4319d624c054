"""MoveNet's own heads and the two networks that they make with the backbone.

Axes: B batch, K = 17 joints in COCO's order, (H, W) the maps, at stride 4.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hetpose.models.backbones.movenet import MapHead, MoveNet
from hetpose.ops.centre_decoding import People, decode_people, decode_person

JOINTS = 17
STRIDE = 4
PIXEL_SCALE = 0.007843017578125  # pixels 0 ... 255 times this, minus 1: the graphs' own constant
SINGLE = {'center': 1, 'kpt_heatmap': JOINTS, 'kpt_regress': 2 * JOINTS, 'kpt_offset': 2 * JOINTS}
MULTI = {**SINGLE, 'box_scale': 2, 'box_offset': 2}


class MoveNetPose(nn.Module):
    """A whole MoveNet, of one person (Lightning, Thunder) or of many (MultiPose).

    Args:
        width: the backbone's.
        many: whether the network finds many people, with boxes.
        size: (H, W) of the maps that the weights of the centre scores are for; one person only.
    """

    centre_weight: Tensor

    def __init__(self, width: float, many: bool = False, size: tuple[int, int] = (64, 64)) -> None:
        super().__init__()
        self.many = many
        self.backbone = MoveNet(width, out_indices=(3,))
        outputs = MULTI if many else SINGLE
        self.heads = nn.ModuleDict({name: MapHead(count) for name, count in outputs.items()})
        if not many:
            self.register_buffer('centre_weight', torch.ones(size))

    def maps(self, images: Tensor) -> dict[str, Tensor]:
        """RGB images (B, 3, 4H, 4W) with values 0 ... 255 → the heads' maps by name.

        ``center`` and ``kpt_heatmap`` are probabilities.
        """
        (features,) = self.backbone(images * PIXEL_SCALE - 1)
        maps = {name: head(features) for name, head in self.heads.items()}
        return {
            name: value.sigmoid() if name in ('center', 'kpt_heatmap') else value
            for name, value in maps.items()
        }

    def person(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """RGB images (B, 3, 4H, 4W) → keypoints (B, K, 2) in input pixels, scores (B, K)."""
        maps = self.maps(images)
        keypoints, scores = decode_person(
            maps['kpt_heatmap'],
            maps['kpt_regress'],
            maps['center'],
            maps['kpt_offset'],
            self.centre_weight,
        )
        return keypoints * STRIDE, scores

    def people(self, images: Tensor, count: int = 6) -> People:
        """RGB images (B, 3, 4H, 4W) → people, keypoints and boxes in input pixels."""
        maps = self.maps(images)
        found = decode_people(
            maps['kpt_heatmap'],
            maps['kpt_regress'],
            maps['center'],
            maps['kpt_offset'],
            maps['box_scale'],
            maps['box_offset'],
            count,
        )
        return found._replace(keypoints=found.keypoints * STRIDE, boxes=found.boxes * STRIDE)
