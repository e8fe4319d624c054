"""Write a small tfjs graph model: our own nodes, named and packed as TensorFlow does."""

import base64
import json
from pathlib import Path

import numpy as np
import torch

from hetpose.models.heads.movenet_heads import MoveNetPose

PREFIX = 'StatefulPartitionedCall/'
TRUNK = PREFIX + 'some_feature_extractor/model_1/'


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class GraphWriter:
    """Collects nodes and weights; ``save`` writes model.json and model.bin."""

    def __init__(self) -> None:
        self.nodes: list[dict] = []
        self.entries: list[dict] = []
        self.data: list[bytes] = []

    def constant(self, name: str, array: np.ndarray, dtype: str = 'float32') -> str:
        stored = array.astype('float16' if dtype == 'float32' else dtype)
        entry = dict(name=name, shape=list(array.shape), dtype=dtype)
        if dtype == 'float32':
            entry['quantization'] = dict(dtype='float16', original_dtype='float32')
        self.entries.append(entry)
        self.data.append(stored.tobytes())
        self.node(name, 'Const')
        return name

    def node(self, name: str, op: str, inputs: tuple = (), **attributes: dict) -> str:
        self.nodes.append(dict(name=name, op=op, input=list(inputs), attr=attributes))
        return name

    def convolution(
        self, name: str, x: str, module: torch.nn.Conv2d, act: str | None = None
    ) -> str:
        grouped = module.groups > 1
        order = (2, 3, 0, 1) if grouped else (2, 3, 1, 0)
        kernel = module.weight.detach().permute(order).numpy()
        inputs = [x, self.constant(f'{name}/kernel', kernel)]
        steps = []
        if module.bias is not None:
            inputs.append(self.constant(f'{name}/bias', module.bias.detach().numpy()))
            steps.append('BiasAdd')
        if act:
            steps.append(act)
        op = ('Fused' if steps else '') + 'DepthwiseConv2dNative' if grouped else '_FusedConv2D'
        stride = str(module.stride[0])
        return self.node(
            name,
            op,
            tuple(inputs),
            strides=dict(list=dict(i=['1', stride, stride, '1'])),
            padding=dict(s=coded('SAME')),
            fused_ops=dict(list=dict(s=[coded(step) for step in steps])),
        )

    def resize(self, name: str, x: str, size: tuple[int, int] | None) -> str:
        """To a constant size; with None to twice the size, as MultiPose computes it."""
        size_name = f'{name}/twice'
        if size is not None:
            size_name = self.constant(f'{name}/size', np.array(size), 'int32')
        return self.node(
            name,
            'ResizeBilinear',
            (x, size_name),
            half_pixel_centers=dict(b=True),
            align_corners=dict(b=False),
        )

    def save(self, folder: Path) -> Path:
        path = folder / 'model.json'
        manifest = [dict(paths=['model.bin'], weights=self.entries)]
        content = dict(modelTopology=dict(node=self.nodes), weightsManifest=manifest)
        path.write_text(json.dumps(content))
        (folder / 'model.bin').write_bytes(b''.join(self.data))
        return path


def small_network(many: bool = False) -> MoveNetPose:
    """A MoveNet of the least width, whose random weights are exact in half precision."""
    torch.manual_seed(0)
    network = MoveNetPose(0.25, many=many, size=(16, 16)).eval()
    for parameter in network.parameters():
        if parameter.ndim == 4:  # large enough for the signal to arrive at the last map
            torch.nn.init.kaiming_normal_(parameter)
        parameter.data = parameter.data.half().float()
    if not many:
        network.centre_weight = torch.rand(16, 16).half().float()
    return network


def write_movenet(network: MoveNetPose, folder: Path) -> Path:
    """The network as a tfjs file."""
    writer, backbone = GraphWriter(), network.backbone
    x = writer.node(f'{PREFIX}sub_1', 'Sub', ('input', 'one'))
    x = writer.convolution(f'{TRUNK}model/Conv1_relu/Relu6', x, backbone.stem, 'Relu6')
    taps = []
    for i, block in enumerate(backbone.blocks):
        stem, first = (f'{TRUNK}model/block_{i}' if i else f'{TRUNK}model/expanded_conv'), x
        if block.expand is not None:
            x = writer.convolution(f'{stem}_expand_relu/Relu6', x, block.expand, 'Relu6')
        x = writer.convolution(f'{stem}_depthwise/depthwise', x, block.depthwise, 'Relu6')
        x = writer.convolution(f'{stem}_project_BN/FusedBatchNormV3', x, block.project)
        if block.residual:
            x = writer.node(f'{stem}_add/add', 'AddV2', (first, x))
        if i in (2, 5, 9):
            taps.append(x)
    x = writer.convolution(f'{TRUNK}model/out_relu/Relu6', x, backbone.last, 'Relu6')
    x = writer.convolution(f'{TRUNK}conv2d/BiasAdd', x, backbone.laterals[0])
    for i, tap in enumerate(reversed(taps)):
        number = f'_{i}' if i else ''
        lateral = writer.convolution(
            f'{TRUNK}conv2d_{i + 1}/BiasAdd', tap, backbone.laterals[i + 1]
        )
        size = None if network.many else (4 * 2**i, 4 * 2**i)
        x = writer.resize(f'{TRUNK}up_sampling2d{number}/resize', x, size)
        x = writer.node(f'{TRUNK}add{number}/AddV2', 'AddV2', (x, lateral))
        name = f'{TRUNK}separable_conv2d{number}/separable_conv2d/depthwise'
        x = writer.convolution(name, x, backbone.fuse[i].depthwise)
        x = writer.convolution(f'{TRUNK}re_lu{number}/Relu', x, backbone.fuse[i].pointwise, 'Relu')
    for i, (name, head) in enumerate(network.heads.items(), start=3):
        y = writer.convolution(f'{PREFIX}{name}_0/separable_conv2d_{i}/d', x, head.depthwise)
        y = writer.convolution(f'{PREFIX}{name}_0/re_lu_{i}/Relu', y, head.pointwise, 'Relu')
        y = writer.convolution(f'{PREFIX}{name}_0/conv2d_{i + 1}/BiasAdd', y, head.out)
    if not network.many:
        weight = writer.constant('weight', network.centre_weight.numpy()[..., None])
        writer.node(f'{PREFIX}truediv_2', 'Mul', ('Sigmoid_1', weight))
    return writer.save(folder)
