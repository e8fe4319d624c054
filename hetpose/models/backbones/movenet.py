"""MoveNet: MobileNetV2 with a feature pyramid, as Google published it.

Axes: B batch, C channels, (H, W) the image.

Batch norms are folded into the convolutions, so the weights of the published graphs load as they
are and there are no statistics to keep.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from mmengine.model import BaseModule
from mmpose.models.backbones.base_backbone import BaseBackbone
from mmpose.registry import MODELS
from torch import Tensor, nn
from torch.nn import functional

STEM_CHANNELS, LAST_CHANNELS, EXPANSION = 32, 1280, 6
# MobileNetV2: output channels at width 1, number of blocks, stride of the first block.
STAGES = ((16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1))
TAPS = (2, 5, 9)  # the blocks whose outputs the pyramid takes, at strides 4, 8 and 16
PYRAMID = (64, 32, 24, 24)  # channels of its maps at strides 32, 16, 8 and 4
HIDDEN_CHANNELS = 96  # of MoveNet's own heads
LATERALS = (64, 64, 32, 24)  # channels of the maps before they are fused


def pack(maps: Sequence[Tensor]) -> Tensor:
    """The pyramid's maps, coarse to fine, one after the other: (B, n)."""
    return torch.cat([m.flatten(1) for m in maps], dim=1)


def unpack(packed: Tensor) -> list[Tensor]:
    """(B, n) → the maps of a square image, coarse to fine."""
    sides = [2**level for level in range(len(PYRAMID))]
    unit = sum(channels * side**2 for channels, side in zip(PYRAMID, sides, strict=True))
    scale = math.isqrt(packed.shape[1] // unit)
    if scale**2 * unit != packed.shape[1]:
        raise ValueError(f'packed: {packed.shape[1]} numbers are not the maps of a square image')
    shapes = [(c, scale * side, scale * side) for c, side in zip(PYRAMID, sides, strict=True)]
    parts = packed.split([math.prod(shape) for shape in shapes], dim=1)
    return [part.unflatten(1, shape) for part, shape in zip(parts, shapes, strict=True)]


def scaled_channels(channels: int, width: float, divisor: int = 8) -> int:
    """MobileNetV2's rounding: the nearest multiple of 8 that is not 10% below the product."""
    rounded = max(divisor, int(channels * width + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels * width else rounded


class SameConv2d(nn.Conv2d):
    """A convolution with TensorFlow's SAME padding: the odd pixel goes to the right and bottom."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C', ⌈H/s⌉, ⌈W/s⌉)."""
        pads = []
        for size, kernel, stride in zip(
            x.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1], strict=True
        ):
            total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            pads += [total // 2, total - total // 2]
        left, right, top, bottom = pads
        if left == right and top == bottom:  # the convolution pads for itself, without a copy
            return functional.conv2d(
                x, self.weight, self.bias, self.stride, (top, left), 1, self.groups
            )
        x = functional.pad(x, pads)
        return functional.conv2d(x, self.weight, self.bias, self.stride, 0, 1, self.groups)


def depthwise(channels: int, stride: int = 1, bias: bool = True) -> SameConv2d:
    """A 3×3 convolution of every channel by itself."""
    return SameConv2d(channels, channels, 3, stride, groups=channels, bias=bias)


class InvertedResidual(nn.Module):
    """Expand (ReLU6), depthwise (ReLU6), project; plus the input where the shapes allow."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.expand = SameConv2d(inputs, hidden, 1) if expansion > 1 else None
        self.depthwise = depthwise(hidden, stride)
        self.project = SameConv2d(hidden, outputs, 1)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C', H/stride, W/stride)."""
        hidden = x if self.expand is None else functional.relu6(self.expand(x))
        projected = self.project(functional.relu6(self.depthwise(hidden)))
        return x + projected if self.residual else projected


class SeparableConv(nn.Module):
    """Depthwise 3×3 without bias, then 1×1 with ReLU."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.depthwise = depthwise(inputs, bias=False)
        self.pointwise = SameConv2d(inputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C', H, W)."""
        return functional.relu(self.pointwise(self.depthwise(x)))


@MODELS.register_module('MoveNetMapHead')
class MapHead(BaseModule):
    """One of MoveNet's own heads: (B, 24, H, W) → (B, outputs, H, W), before any sigmoid.

    Separable convolution to 96 channels, ReLU, 1×1.

    Args:
        outputs: number of maps.
        init_cfg: where the weights are, as in mmengine.
    """

    def __init__(self, outputs: int, init_cfg: dict | None = None) -> None:
        super().__init__(init_cfg=init_cfg)
        self.outputs = outputs
        self.depthwise = depthwise(PYRAMID[-1], bias=False)
        self.pointwise = SameConv2d(PYRAMID[-1], HIDDEN_CHANNELS, 1)
        self.out = SameConv2d(HIDDEN_CHANNELS, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The backbone's finest map → the head's maps."""
        return self.out(functional.relu(self.pointwise(self.depthwise(x))))


@MODELS.register_module()
class MoveNet(BaseBackbone):
    """Image (B, 3, H, W) in [−1, 1], RGB → the pyramid's maps, coarse to fine.

    H and W are multiples of 32. The maps have strides 32, 16, 8, 4 and 64, 32, 24, 24 channels;
    the last is what MoveNet's own heads read.

    Args:
        width: factor of MobileNetV2's channels: 1 (Lightning), 1.75 (Thunder), 1.5 (MultiPose).
        out_indices: which of the four maps to return, in order.
        frozen_blocks: how many of the 17 blocks, after the stem, are not trained; −1: everything
            is trained. 18 freezes the pyramid as well.
        init_cfg: where the weights are, as in mmengine.
    """

    def __init__(
        self,
        width: float = 1.0,
        out_indices: Sequence[int] = (0, 1, 2, 3),
        frozen_blocks: int = -1,
        init_cfg: dict | None = None,
    ) -> None:
        super().__init__(init_cfg=init_cfg)
        if not set(out_indices) <= set(range(len(PYRAMID))):
            raise ValueError(f'out_indices must lie between 0 and 3, got {tuple(out_indices)}')
        self.out_indices = tuple(out_indices)
        self.frozen_blocks = frozen_blocks
        channels = scaled_channels(STEM_CHANNELS, width)
        self.stem = SameConv2d(3, channels, 3, stride=2)
        blocks: list[InvertedResidual] = []
        for base, count, stride in STAGES:
            outputs = scaled_channels(base, width)
            for i in range(count):
                expansion = EXPANSION if blocks else 1
                blocks.append(
                    InvertedResidual(channels, outputs, stride if i == 0 else 1, expansion)
                )
                channels = outputs
        self.blocks = nn.ModuleList(blocks)
        self.last = SameConv2d(channels, LAST_CHANNELS, 1)
        tapped: list[int] = [blocks[i].project.out_channels for i in TAPS]
        self.laterals = nn.ModuleList(
            SameConv2d(inputs, outputs, 1)
            for inputs, outputs in zip([LAST_CHANNELS, *tapped[::-1]], LATERALS, strict=True)
        )
        self.fuse = nn.ModuleList(
            SeparableConv(inputs, outputs)
            for inputs, outputs in zip(LATERALS[1:], PYRAMID[1:], strict=True)
        )
        self._freeze()

    def _freeze(self) -> None:
        if self.frozen_blocks < 0:
            return
        frozen = [self.stem, *self.blocks[: self.frozen_blocks]]
        if self.frozen_blocks > len(self.blocks):
            frozen = [self]
        for module in frozen:
            module.requires_grad_(False)

    def trunk(self, x: Tensor) -> list[Tensor]:
        """Image (B, 3, H, W) → what the pyramid takes, at strides 4, 8, 16 and 32."""
        x = functional.relu6(self.stem(x))
        taps = []
        for i, block in enumerate(self.blocks):
            x = block(x)
            if i in TAPS:
                taps.append(x)
        return [*taps, functional.relu6(self.last(x))]

    def pyramid(self, taps: Sequence[Tensor]) -> list[Tensor]:
        """The trunk's maps at strides 4, 8, 16 and 32 → the four maps, coarse to fine."""
        maps = [self.laterals[0](taps[-1])]
        for lateral, fuse, tap in zip(
            list(self.laterals)[1:], self.fuse, taps[-2::-1], strict=True
        ):
            # TensorFlow's half_pixel_centers is torch's align_corners=False.
            raised = functional.interpolate(
                maps[-1], size=tap.shape[-2:], mode='bilinear', align_corners=False
            )
            maps.append(fuse(raised + lateral(tap)))
        return maps

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Image (B, 3, H, W) → the maps of ``out_indices``.

        Maps that were computed before (``pack``) pass through: (B, n, 1, w), where the first
        column is the image's. With w = 2 the second is its mirror image's, so that flipping the
        input along its width, as a flip test does, is right for them as well.
        """
        if x.shape[1] != 3:
            maps = unpack(x[:, :, 0, 0])
            return tuple(maps[i] for i in self.out_indices)
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.frozen_blocks <= 17):
            maps = self.pyramid(self.trunk(x))
        return tuple(maps[i] for i in self.out_indices)
