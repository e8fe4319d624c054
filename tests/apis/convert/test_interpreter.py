"""Each operation against its definition, written out in numpy."""

from pathlib import Path

import numpy as np
import pytest
import torch

from hetpose.apis.convert.interpreter import evaluate, resize, same_padding
from hetpose.apis.convert.tfjs import Node, read_graph
from hetpose.errors import UserError
from tests.helpers_tfjs import GraphWriter


@pytest.mark.parametrize(
    ('size', 'kernel', 'stride', 'expected'),
    [
        (8, 3, 1, (1, 1)),
        (8, 3, 2, (0, 1)),
        (7, 3, 2, (1, 1)),
        (8, 1, 2, (0, 0)),
        (5, 4, 1, (1, 2)),
    ],
)
def test_same_padding(size: int, kernel: int, stride: int, expected: tuple) -> None:
    assert same_padding(size, kernel, stride) == expected


@pytest.mark.parametrize('stride', [1, 2])
@pytest.mark.parametrize('groups', [1, 4])
def test_a_convolution_is_the_sum_it_is_defined_as(
    tmp_path: Path, stride: int, groups: int
) -> None:
    torch.manual_seed(0)
    module = torch.nn.Conv2d(4, 4, 3, stride, groups=groups)
    for parameter in module.parameters():
        parameter.data = parameter.data.half().float()
    writer = GraphWriter()
    writer.convolution('c', 'x', module, 'Relu6')
    x = torch.randn(1, 4, 6, 5)
    found = evaluate(read_graph(writer.save(tmp_path)), 'x', x, ['c'])['c'][0].numpy()
    weight, bias = module.weight.detach().numpy(), module.bias.detach().numpy()
    height, width = -(-6 // stride), -(-5 // stride)
    assert found.shape == (4, height, width)
    top, left = same_padding(6, 3, stride)[0], same_padding(5, 3, stride)[0]
    image = x[0].numpy()
    for o, i, j in np.ndindex(4, height, width):
        total = float(bias[o])
        channels = range(4) if groups == 1 else [o]
        for n, c in enumerate(channels):
            for a, b in np.ndindex(3, 3):
                row, column = stride * i + a - top, stride * j + b - left
                if 0 <= row < 6 and 0 <= column < 5:
                    total += image[c, row, column] * weight[o, n, a, b]
        assert found[o, i, j] == pytest.approx(min(max(total, 0), 6), abs=1e-5)


def test_resizing_takes_pixels_at_their_middles() -> None:
    node = Node('r', 'ResizeBilinear', (), dict(half_pixel_centers=dict(b=True)))
    x = torch.arange(4.0).reshape(1, 1, 1, 4)
    found = resize(node, x, (1, 8))[0, 0, 0]
    place = ((np.arange(8) + 0.5) / 2 - 0.5).clip(0, 3)  # pixel i of 8 in units of the 4
    np.testing.assert_allclose(found.numpy(), place, atol=1e-6)


def test_resizing_of_an_unknown_kind() -> None:
    with pytest.raises(UserError, match='half-pixel'):
        resize(Node('r', 'ResizeBilinear', (), {}), torch.zeros(1, 1, 2, 2), (4, 4))


def test_a_node_that_cannot_be_reached(tmp_path: Path) -> None:
    writer = GraphWriter()
    writer.node('a', 'Softmax', ('x',))
    with pytest.raises(UserError, match='no way leads from x to node a'):
        evaluate(read_graph(writer.save(tmp_path)), 'x', torch.zeros(1, 1, 2, 2), ['a'])
