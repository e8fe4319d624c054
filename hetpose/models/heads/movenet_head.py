"""MoveNet's own heads as a head of mmpose, so that a MoveNet is a top-down pose estimator.

Axes: B batch, K = 17 joints in COCO's order, (H, W) the maps, at stride 4.
"""

from __future__ import annotations

from typing import Any

import torch
from mmengine.structures import InstanceData, PixelData
from mmpose.models.heads.base_head import BaseHead
from mmpose.models.utils.tta import flip_coordinates
from mmpose.registry import MODELS
from torch import Tensor, nn

from hetpose.models.backbones.movenet import PYRAMID
from hetpose.models.heads.movenet_heads import JOINTS, SINGLE, STRIDE, MapHead
from hetpose.ops.centre_decoding import decode_person


@MODELS.register_module()
class MoveNetHead(BaseHead):
    """The person of a crop, as Lightning and Thunder decode it; only for prediction.

    Args:
        size: (H, W) of the maps.
    """

    centre_weight: Tensor

    def __init__(self, size: tuple[int, int] = (64, 64), init_cfg: dict | None = None) -> None:
        super().__init__(init_cfg)
        self.in_channels, self.out_channels = PYRAMID[-1], JOINTS
        self.heads = nn.ModuleDict({name: MapHead(count) for name, count in SINGLE.items()})
        self.register_buffer('centre_weight', torch.ones(*size))

    def forward(self, feats: Any) -> tuple[Tensor, Tensor]:
        """Features → (x, y, score) of every joint (B, K, 3) and heatmaps (B, K, H, W).

        Places are fractions of the crop.
        """
        maps = {name: head(feats[-1]) for name, head in self.heads.items()}
        heatmaps = maps['kpt_heatmap'].sigmoid()
        cells, scores = decode_person(
            heatmaps,
            maps['kpt_regress'],
            maps['center'].sigmoid(),
            maps['kpt_offset'],
            self.centre_weight,
        )
        places = cells / cells.new_tensor([heatmaps.shape[-1], heatmaps.shape[-2]])
        return torch.cat([places, scores[..., None]], dim=-1), heatmaps

    def predict(self, feats: Any, batch_data_samples: list, test_cfg: dict | None = None) -> Any:
        """Instances with keypoints (1, K, 2) in input pixels and scores (1, K).

        With a flip test places, scores and heatmaps are the averages of the two images'.
        """
        test_cfg = test_cfg or {}
        if test_cfg.get('flip_test', False):
            joints, heatmaps = self.forward(feats[0])
            mirrored, mirrored_heatmaps = self.forward(feats[1])
            partners = batch_data_samples[0].metainfo['flip_indices']
            joints = (joints + flip_coordinates(mirrored, partners, False, (0, 0))) / 2
            heatmaps = (heatmaps + mirrored_heatmaps.flip(-1)[:, partners]) / 2
        else:
            joints, heatmaps = self.forward(feats)
        size = joints.new_tensor([heatmaps.shape[-1], heatmaps.shape[-2]]) * STRIDE
        keypoints, scores = (joints[..., :2] * size).cpu().numpy(), joints[..., 2].cpu().numpy()
        found = [
            InstanceData(keypoints=points[None], keypoint_scores=score[None])
            for points, score in zip(keypoints, scores, strict=True)
        ]
        if test_cfg.get('output_heatmaps', False):
            return found, [PixelData(heatmaps=maps) for maps in heatmaps.detach()]
        return found

    def loss(self, feats: Any, batch_data_samples: list, train_cfg: dict | None = None) -> dict:
        """MoveNet's training was never published."""
        raise NotImplementedError('MoveNetHead predicts; it cannot be trained')
