"""A stack of convolutions, batch norms and ReLUs as linear steps around one point, with adjoints.

Axes: B batch, N images (rows or columns of Jacobians), C channels, H and W sizes. Images are kept
in channels-last order, in which strided convolutions of many channels are fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hetpose.ops.taylor.pointwise import batch_norm_affine

CONVOLUTIONS = (nn.Conv2d, nn.ConvTranspose2d)
_BatchNorm = nn.modules.batchnorm._BatchNorm
# A subclass may compute something else, unless it runs one of these. Those of mmcv differ from
# torch's for empty inputs only.
_PLAIN_FORWARDS = {
    nn.Conv2d.forward,
    nn.ConvTranspose2d.forward,
    nn.ReLU.forward,
    _BatchNorm.forward,
    nn.SyncBatchNorm.forward,
}
_PLAIN_WRAPPERS = 'mmcv.cnn.bricks.wrappers'


def _padding(module: nn.Conv2d | nn.ConvTranspose2d) -> tuple[int, int]:
    assert not isinstance(module.padding, str)  # flatten() lets none of those through
    return module.padding[0], module.padding[1]


@dataclass
class Convolution:
    """The linear part of a convolution and its adjoint; ``weight`` may not be the module's."""

    module: nn.Conv2d | nn.ConvTranspose2d
    weight: Tensor
    input_size: tuple[int, int]
    output_size: tuple[int, int]

    def apply(self, images: Tensor) -> Tensor:
        """(N, C_in, H, W) → (N, C_out, H', W')."""
        if isinstance(self.module, nn.ConvTranspose2d):
            return self._transposed(images, self.output_size)
        return self._plain(images)

    def adjoint(self, images: Tensor) -> Tensor:
        """(N, C_out, H', W') → (N, C_in, H, W)."""
        if isinstance(self.module, nn.ConvTranspose2d):
            return self._plain(images)
        return self._transposed(images, self.input_size)

    @property
    def is_pointwise(self) -> bool:
        """Whether it mixes channels only."""
        m = self.module
        still = m.stride == (1, 1) and m.groups == 1 and m.kernel_size == (1, 1)
        return isinstance(m, nn.Conv2d) and still and self.input_size == self.output_size

    def after_channel_mix(self, mix: Tensor) -> Convolution:
        """This step after a 1×1 convolution with matrix mix (C_in, C_before), as one step."""
        equation = (
            'iokl,ij->jokl' if isinstance(self.module, nn.ConvTranspose2d) else 'oikl,ij->ojkl'
        )
        weight = torch.einsum(equation, self.weight, mix)
        return Convolution(self.module, weight, self.input_size, self.output_size)

    def _plain(self, images: Tensor) -> Tensor:
        m = self.module
        return F.conv2d(images, self.weight, None, m.stride, m.padding, m.dilation, m.groups)

    def _transposed(self, images: Tensor, size: tuple[int, int]) -> Tensor:
        m, padding = self.module, _padding(self.module)
        extra = []
        for axis in (0, 1):
            span = m.dilation[axis] * (m.kernel_size[axis] - 1) + 1
            smallest = (images.shape[2 + axis] - 1) * m.stride[axis] - 2 * padding[axis] + span
            extra.append(size[axis] - smallest)
        return F.conv_transpose2d(
            images, self.weight, None, m.stride, padding, extra, m.groups, m.dilation
        )


@dataclass
class Gate:
    """Multiplication by a diagonal: (B, C, H, W) behind a ReLU, else (1, C, 1, 1)."""

    diagonal: Tensor
    per_sample: bool

    def at(self, sample: int) -> Tensor:
        """The diagonal of one sample, (1, C, H or 1, W or 1)."""
        return self.diagonal[sample : sample + 1] if self.per_sample else self.diagonal


Step = Convolution | Gate


def flatten(decoder: nn.Module) -> list[nn.Module] | None:
    """The decoder's layers in order, or None where one of them is not known."""
    if decoder._forward_hooks or decoder._forward_pre_hooks:
        return None
    if isinstance(decoder, nn.Sequential) and type(decoder).forward is nn.Sequential.forward:
        parts = [flatten(part) for part in decoder]
        known = [part for part in parts if part is not None]
        return [layer for part in known for layer in part] if len(known) == len(parts) else None
    if type(decoder) in (nn.Identity, nn.Dropout):
        return []
    if not _is_plain(decoder):
        return None
    if isinstance(decoder, CONVOLUTIONS):
        plain = decoder.padding_mode == 'zeros' and not isinstance(decoder.padding, str)
        return [decoder] if plain else None
    return [decoder] if isinstance(decoder, nn.ReLU | _BatchNorm) else None


def _is_plain(layer: nn.Module) -> bool:
    """Whether a layer computes what the class of torch that it derives from computes."""
    if 'forward' in vars(layer):
        return False
    own: Any = type(layer)
    if isinstance(layer, nn.Conv2d) and own._conv_forward is not nn.Conv2d._conv_forward:
        return False
    return own.forward in _PLAIN_FORWARDS or own.__module__ == _PLAIN_WRAPPERS


def largest_image(layers: Sequence[nn.Module], shape: Sequence[int]) -> tuple[int, int]:
    """Numbers in the largest image and in all images of the stack, for an input (C, H, W)."""
    channels, *size = shape
    numbers = [channels * size[0] * size[1]]
    for layer in layers:
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            for axis, padding in enumerate(_padding(layer)):
                span = layer.dilation[axis] * (layer.kernel_size[axis] - 1) + 1
                if isinstance(layer, nn.ConvTranspose2d):
                    grown = (size[axis] - 1) * layer.stride[axis] - 2 * padding + span
                    size[axis] = grown + layer.output_padding[axis]
                else:
                    size[axis] = (size[axis] + 2 * padding - span) // layer.stride[axis] + 1
            channels = layer.out_channels
        numbers.append(channels * size[0] * size[1])
    return max(numbers), sum(numbers)


def linearise(layers: Sequence[nn.Module], x: Tensor) -> tuple[Tensor, list[Step]]:
    """The stack's value at x (B, C, H, W) and its steps; x may be overwritten."""
    steps: list[Step] = []
    for layer in layers:
        size = (x.shape[2], x.shape[3])
        x = layer(x)
        if isinstance(layer, CONVOLUTIONS):
            weight = layer.weight.contiguous(memory_format=torch.channels_last)
            steps.append(Convolution(layer, weight, size, (x.shape[2], x.shape[3])))
        elif isinstance(layer, _BatchNorm):
            scale = batch_norm_affine(layer)[0]
            _append_gate(steps, scale[None, :, None, None], per_sample=False)
        else:
            _append_gate(steps, (x > 0).to(x.dtype), per_sample=True)
    return x, steps


def _append_gate(steps: list[Step], diagonal: Tensor, per_sample: bool) -> None:
    """Neighbouring diagonals become one."""
    last = steps[-1] if steps else None
    if isinstance(last, Gate):
        steps[-1] = Gate(diagonal * last.diagonal, per_sample or last.per_sample)
    else:
        steps.append(Gate(diagonal, per_sample))


def forward(steps: Sequence[Step], images: Tensor, sample: int) -> Tensor:
    """Columns of one sample's Jacobian through the steps: (N, C, H, W) → (N, C', H', W')."""
    for step in steps:
        images = step.apply(images) if isinstance(step, Convolution) else images * step.at(sample)
    return images


def backward(steps: Sequence[Step], images: Tensor, sample: int) -> Tensor:
    """Rows of one sample's Jacobian back through the steps: (N, C', H', W') → (N, C, H, W)."""
    for step in reversed(steps):
        if isinstance(step, Convolution):
            images = step.adjoint(images)
        else:
            images = images * step.at(sample)
    return images
