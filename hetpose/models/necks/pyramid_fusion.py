"""One feature map from a pyramid, at the cost of a few small convolutions.

Axes: B batch, C channels, (h, w) the second finest map.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from mmcv.cnn import ConvModule, DepthwiseSeparableConvModule
from mmengine.model import BaseModule
from mmpose.registry import MODELS
from torch import Tensor, nn
from torch.nn import functional

NORM = dict(type='BN')


@MODELS.register_module()
class PyramidFusion(BaseModule):
    """Maps, coarse to fine → one map F (B, C, h, w) of the second finest one's size.

    The finest map comes down by a convolution with stride 2, the coarse ones are raised; residual
    separable convolutions on their sum then relate them.

    Args:
        in_channels: of the maps, coarse to fine, each twice as large as the one before.
        channels: C.
        blocks: number of the residual convolutions.
        heatmaps: config of a head whose sigmoids join the finest map, such as MoveNet's own
            heatmaps of other joints. It is not trained.
        dropout: probability that a channel of F is left out in training.
    """

    def __init__(
        self,
        in_channels: Sequence[int],
        channels: int = 64,
        blocks: int = 2,
        heatmaps: dict | None = None,
        dropout: float = 0.0,
        init_cfg: dict | None = None,
    ) -> None:
        super().__init__(init_cfg=init_cfg)
        *coarse, fine = in_channels
        self.coarse = nn.ModuleList(
            ConvModule(inputs, channels, 1, norm_cfg=NORM, act_cfg=None) for inputs in coarse
        )
        self.heatmaps = None if heatmaps is None else MODELS.build(heatmaps).requires_grad_(False)
        fine += 0 if self.heatmaps is None else self.heatmaps.outputs
        self.fine = ConvModule(fine, channels, 3, stride=2, padding=1, norm_cfg=NORM, act_cfg=None)
        self.blocks = nn.ModuleList(
            DepthwiseSeparableConvModule(channels, channels, 3, padding=1, norm_cfg=NORM)
            for _ in range(blocks)
        )
        self.dropout = nn.Dropout2d(dropout)

    def forward(self, maps: Sequence[Tensor]) -> tuple[Tensor]:
        """The maps, coarse to fine → (F,)."""
        # Twice as fast on CPUs.
        *coarse, fine = [m.contiguous(memory_format=torch.channels_last) for m in maps]
        size = coarse[-1].shape[-2:]
        if self.heatmaps is not None:
            fine = torch.cat([fine, self.heatmaps(fine).sigmoid()], dim=1)
        x = self.fine(fine)
        for layer, level in zip(self.coarse, coarse, strict=True):
            raised = layer(level)
            if raised.shape[-2:] != size:
                raised = functional.interpolate(
                    raised, size=size, mode='bilinear', align_corners=False
                )
            x = x + raised
        x = functional.relu(x)
        for block in self.blocks:
            x = x + block(x)
        return (self.dropout(x),)
