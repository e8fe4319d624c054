"""Run the convolutional part of a tfjs graph node by node, slowly and literally.

It knows nothing of MoveNet, so it is what a converted network is compared with. Tensors are kept
as (B, C, H, W).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.nn import functional

from hetpose.apis.convert.tfjs import Graph, Node
from hetpose.errors import UserError

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    'Relu6': lambda x: x.clamp(0, 6),
    'Relu': lambda x: x.clamp_min(0),
}


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """TensorFlow's SAME: pixels before and after, so that ⌈size / stride⌉ come out."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def convolve(graph: Graph, node: Node, x: Tensor) -> Tensor:
    """(B, C, H, W) through a convolution, its bias and its activation."""
    kernel = torch.from_numpy(graph.weights[node.inputs[1]].copy()).float()  # (h, w, C, C')
    depthwise = 'Depthwise' in node.op
    groups = x.shape[1] if depthwise else 1
    if depthwise:  # (h, w, C, m): m outputs for every channel
        weight = kernel.permute(2, 3, 0, 1).flatten(0, 1)[:, None]
    else:
        weight = kernel.permute(3, 2, 0, 1)
    strides = node.integers('strides')[1:3]
    padding = node.text('padding')
    if padding == 'SAME':
        vertical = same_padding(x.shape[2], kernel.shape[0], strides[0])
        horizontal = same_padding(x.shape[3], kernel.shape[1], strides[1])
        x = functional.pad(x, (*horizontal, *vertical))
    elif padding != 'VALID':
        raise UserError(f'node {node.name}: padding {padding!r} is not known')
    x = functional.conv2d(x, weight, stride=strides, groups=groups)
    for step in node.texts('fused_ops'):
        if step == 'BiasAdd':
            x = x + torch.from_numpy(graph.weights[node.inputs[2]].copy()).float()[:, None, None]
        elif step in ACTIVATIONS:
            x = ACTIVATIONS[step](x)
        else:
            raise UserError(f'node {node.name}: fused operation {step!r} is not known')
    return x


def resize(node: Node, x: Tensor, size: tuple[int, int]) -> Tensor:
    """(B, C, h, w) → (B, C, *size), with the node's own convention of where pixels are."""
    half_pixel, corners = node.flag('half_pixel_centers'), node.flag('align_corners')
    if half_pixel == corners:
        raise UserError(f'node {node.name}: only half-pixel centres or aligned corners are known')
    return functional.interpolate(x, size=size, mode='bilinear', align_corners=corners)


def evaluate(graph: Graph, start: str, value: Tensor, wanted: Iterable[str]) -> dict[str, Tensor]:
    """Outputs (B, C, H, W) of the nodes ``wanted`` where node ``start`` gives ``value``."""
    known = {start: value}
    wanted = list(wanted)
    for node in graph.nodes.values():
        if node.name in known or not node.inputs or node.inputs[0] not in known:
            continue
        x = known[node.inputs[0]]
        if 'Conv2' in node.op:
            known[node.name] = convolve(graph, node, x)
        elif node.op == 'ResizeBilinear':
            fixed = graph.weights.get(node.inputs[1])
            size = fixed if fixed is not None else (2 * x.shape[2], 2 * x.shape[3])
            known[node.name] = resize(node, x, (int(size[0]), int(size[1])))
        elif node.op == 'AddV2' and node.inputs[1] in known:
            known[node.name] = x + known[node.inputs[1]]
    lacking = [name for name in wanted if name not in known]
    if lacking:
        raise UserError(f'{graph.path}: no way leads from {start} to node {lacking[0]}')
    return {name: known[name] for name in wanted}
