"""From MoveNet's tfjs graphs to torch weights, with a proof that they are the same network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hetpose.apis.convert.interpreter import evaluate
from hetpose.apis.convert.tfjs import Graph, Node, read_graph
from hetpose.engine.checkpoint import check_fit, read_checkpoint, weights_of
from hetpose.errors import UserError
from hetpose.fileio import atomic_path
from hetpose.models.backbones.movenet import STEM_CHANNELS
from hetpose.models.heads.movenet_heads import STRIDE, MoveNetPose

SCALED_INPUT = 'sub_1'  # the node after which pixels lie in [−1, 1]
AGREEMENT = 1e-4  # of the largest value of a map: float32 rounding through 60 layers
# Where a node's name, without what comes before it, leads in the torch network.
RULES = (
    (r'model/Conv1_relu/.*', r'backbone.stem'),
    (r'model/expanded_conv_(depthwise|project)\b.*', r'backbone.blocks.0.\1'),
    (r'model/expanded_conv_(depthwise|project)_BN/.*', r'backbone.blocks.0.\1'),
    (r'model/block_(\d+)_(expand|depthwise|project)(?:_relu|_BN)?/.*', r'backbone.blocks.\1.\2'),
    (r'model/out_relu/.*', r'backbone.last'),
    (r'conv2d(?:_(\d+))?/.*', r'backbone.laterals.\1'),
    (r'separable_conv2d(?:_(\d+))?/.*', r'backbone.fuse.\1.depthwise'),
    (r're_lu(?:_(\d+))?/.*', r'backbone.fuse.\1.pointwise'),
    (r'(\w+)_0/separable_conv2d_\d+/.*', r'heads.\1.depthwise'),
    (r'(\w+)_0/re_lu_\d+/.*', r'heads.\1.pointwise'),
    (r'(\w+)_0/conv2d_\d+/.*', r'heads.\1.out'),
)


def module_name(node: str) -> str | None:
    """The torch module of a convolution node; None if no rule knows it."""
    short = re.sub(r'^(StatefulPartitionedCall/)?(\w+feature_extractor/model_1/)?', '', node)
    for pattern, replacement in RULES:
        match = re.fullmatch(pattern, short)
        if match:  # Keras leaves the number 0 out
            for number, group in enumerate(match.groups(), start=1):
                replacement = replacement.replace(f'\\{number}', group or '0')
            return replacement
    return None


def convolutions(graph: Graph) -> dict[str, Node]:
    """The convolution nodes by the name of their torch module."""
    found: dict[str, Node] = {}
    for node in graph.nodes.values():
        if 'Conv2' not in node.op:
            continue
        name = module_name(node.name)
        if name is None or name in found:
            raise UserError(f'{graph.path} is not a MoveNet: convolution {node.name} is not known')
        found[name] = node
    if 'backbone.stem' not in found:
        raise UserError(f'{graph.path} is not a MoveNet: it has no convolution Conv1_relu')
    return found


def torch_weights(graph: Graph, nodes: dict[str, Node]) -> dict[str, Tensor]:
    """The weights by their torch names: kernels (h, w, C, C') become (C', C, h, w)."""
    weights = {}
    for name, node in nodes.items():
        kernel = torch.from_numpy(graph.weights[node.inputs[1]].astype(np.float32))
        order = (2, 3, 0, 1) if 'Depthwise' in node.op else (3, 2, 0, 1)
        weights[f'{name}.weight'] = kernel.permute(order).contiguous()
        if len(node.inputs) > 2:
            weights[f'{name}.bias'] = torch.from_numpy(
                graph.weights[node.inputs[2]].astype(np.float32)
            )
    return weights


def _centre_weight(graph: Graph) -> Tensor | None:
    """The factor of the centre scores, (H, W); None in a network of many people."""
    for node in graph.nodes.values():
        if node.op == 'Mul' and node.inputs[-1] in graph.weights:
            array = graph.weights[node.inputs[-1]]
            if array.ndim == 3 and array.shape[2] == 1:
                return torch.from_numpy(array[..., 0].astype(np.float32))
    return None


def settings_of(graph: Graph) -> dict[str, Any]:
    """The arguments of ``MoveNetPose`` that the graph's shapes ask for."""
    nodes = convolutions(graph)
    stem = graph.weights[nodes['backbone.stem'].inputs[1]]
    many = 'heads.box_scale.out' in nodes
    settings: dict[str, Any] = dict(width=stem.shape[-1] / STEM_CHANNELS, many=many)
    weight = _centre_weight(graph)
    if weight is not None and not many:
        settings['size'] = tuple(weight.shape)
    return settings


def convert(path: str | Path) -> MoveNetPose:
    """The network of a tfjs file, in evaluation mode, checked against the file's own graph."""
    graph = read_graph(path)
    nodes = convolutions(graph)
    network = MoveNetPose(**settings_of(graph)).eval()
    weights = torch_weights(graph, nodes)
    centre_weight = _centre_weight(graph)
    if not network.many and centre_weight is not None:
        weights['centre_weight'] = centre_weight
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        reason = str(error).splitlines()[1].strip()
        raise UserError(f'{path} is not a MoveNet that is known: {reason}') from error
    check_agreement(graph, nodes, network)
    return network


@torch.no_grad()
def check_agreement(graph: Graph, nodes: dict[str, Node], network: MoveNetPose) -> None:
    """Raise where the network's maps differ from what the graph's own nodes give."""
    size = 3 * 32 if network.many else STRIDE * network.centre_weight.shape[0]
    image = torch.rand(1, 3, size, size, generator=torch.Generator().manual_seed(0)) * 2 - 1
    start = next((n for n in graph.nodes if n.rpartition('/')[2] == SCALED_INPUT), None)
    if start is None:
        raise UserError(f'{graph.path} is not a MoveNet: it has no node {SCALED_INPUT}')
    ends = {name: nodes[f'heads.{name}.out'].name for name in network.heads}
    truth = evaluate(graph, start, image, ends.values())
    (features,) = network.backbone(image)
    for name, head in network.heads.items():
        expected = truth[ends[name]]
        error = (head(features) - expected).abs().max() / expected.abs().max()
        if not error < AGREEMENT:
            raise UserError(
                f'{graph.path}: map {name} of the converted network differs by {error:.1e} from '
                'the graph: its strides, padding, activations or resizing are not as in MoveNet'
            )


def save(network: MoveNetPose, path: str | Path, source: str | Path) -> None:
    """Write the weights, in half precision as they came, and how to build their network."""
    settings: dict[str, Any] = dict(
        width=network.backbone.stem.out_channels / STEM_CHANNELS, many=network.many
    )
    if not network.many:
        settings['size'] = tuple(network.centre_weight.shape)
    content = dict(
        state_dict={name: value.half() for name, value in network.state_dict().items()},
        meta=dict(movenet=settings, source=Path(source).name),
    )
    with atomic_path(path) as temporary:
        torch.save(content, temporary)


def load(path: str | Path) -> MoveNetPose:
    """The network of a checkpoint that ``save`` wrote, in float32 and evaluation mode."""
    content = read_checkpoint(path)
    settings = content.get('meta', {}).get('movenet')
    if settings is None:
        raise UserError(f'{path} is not a MoveNet that tools/convert_movenet.py wrote')
    network = MoveNetPose(**settings).eval()
    check_fit(network, content, path, whole=True)
    network.load_state_dict(weights_of(content))
    return network
