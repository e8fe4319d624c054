"""One fine feature map from a pyramid, at the cost of a few small convolutions.

Axes: B batch, C channels, (h, w) the finest map.
"""

from __future__ import annotations

from collections.abc import Sequence

from mmcv.cnn import ConvModule, DepthwiseSeparableConvModule
from mmengine.model import BaseModule
from mmpose.registry import MODELS
from torch import Tensor, nn
from torch.nn import functional

NORM = dict(type='BN')


def _raise(x: Tensor, like: Tensor) -> Tensor:
    """Bilinear interpolation of x to the size of another map."""
    return functional.interpolate(x, size=like.shape[-2:], mode='bilinear', align_corners=False)


@MODELS.register_module()
class PyramidFusion(BaseModule):
    """Maps, coarse to fine → one map F (B, C, h, w) of the finest one's size.

    All but the finest map meet at the second finest, where residual 5×5 separable convolutions
    relate distant joints cheaply; the result is added to the finest map.

    Args:
        in_channels: of the maps, coarse to fine.
        channels: C.
        blocks: number of the residual convolutions.
    """

    def __init__(
        self,
        in_channels: Sequence[int],
        channels: int = 64,
        blocks: int = 2,
        init_cfg: dict | None = None,
    ) -> None:
        super().__init__(init_cfg=init_cfg)
        *coarse, fine = in_channels
        self.coarse = nn.ModuleList(
            ConvModule(inputs, channels, 1, norm_cfg=NORM, act_cfg=None) for inputs in coarse
        )
        self.blocks = nn.ModuleList(
            DepthwiseSeparableConvModule(channels, channels, 5, padding=2, norm_cfg=NORM)
            for _ in range(blocks)
        )
        self.bridge = ConvModule(channels, channels, 1, norm_cfg=NORM, act_cfg=None)
        self.fine = DepthwiseSeparableConvModule(
            fine, channels, 3, padding=1, norm_cfg=NORM, dw_act_cfg=None, pw_act_cfg=None
        )

    def forward(self, maps: Sequence[Tensor]) -> tuple[Tensor]:
        """The maps, coarse to fine → (F,)."""
        *coarse, fine = maps
        x = sum(_raise(layer(m), coarse[-1]) for layer, m in zip(self.coarse, coarse, strict=True))
        x = functional.relu(x)
        for block in self.blocks:
            x = x + block(x)
        return (functional.relu(self.fine(fine) + _raise(self.bridge(x), fine)),)
