"""Shapes and padding of MoveNet, and what of it is trained."""

import pytest
import torch
from torch.nn import functional

from hetpose.models.backbones.movenet import MoveNet, SameConv2d, pack, scaled_channels


@pytest.mark.parametrize(('size', 'stride'), [(8, 1), (8, 2), (7, 2)])
def test_the_odd_pixel_of_padding_goes_last(size: int, stride: int) -> None:
    torch.manual_seed(0)
    module, x = SameConv2d(2, 3, 3, stride), torch.randn(1, 2, size, size)
    before, after = {(8, 1): (1, 1), (8, 2): (0, 1), (7, 2): (1, 1)}[size, stride]
    padded = functional.pad(x, (before, after, before, after))
    expected = functional.conv2d(padded, module.weight, module.bias, stride)
    torch.testing.assert_close(module(x), expected)
    assert expected.shape[-1] == -(-size // stride)


@pytest.mark.parametrize(
    ('channels', 'width', 'expected'), [(16, 1.75, 32), (24, 1.75, 40), (16, 1.5, 24), (32, 1, 32)]
)
def test_channels_are_those_of_the_published_networks(
    channels: int, width: float, expected: int
) -> None:
    assert scaled_channels(channels, width) == expected


def test_pyramid_shapes() -> None:
    maps = MoveNet(0.25)(torch.zeros(2, 3, 64, 96))
    assert [tuple(m.shape) for m in maps] == [
        (2, 64, 2, 3),
        (2, 32, 4, 6),
        (2, 24, 8, 12),
        (2, 24, 16, 24),
    ]
    (last,) = MoveNet(0.25, out_indices=[3])(torch.zeros(1, 3, 32, 32))
    assert last.shape == (1, 24, 8, 8)


@pytest.mark.parametrize('blocks', [-1, 13, 18])
def test_frozen_blocks_get_no_gradient(blocks: int) -> None:
    network = MoveNet(0.25, frozen_blocks=blocks)
    trained = {name for name, p in network.named_parameters() if p.requires_grad}
    assert ('stem.weight' in trained) == (blocks < 0)
    assert ('blocks.12.project.weight' in trained) == (blocks < 0)
    assert ('blocks.13.project.weight' in trained) == (blocks < 18)
    assert ('laterals.0.weight' in trained) == (blocks < 18)
    output = network(torch.randn(1, 3, 32, 32))[-1]
    assert output.requires_grad == (blocks < 18)


def test_an_unknown_map() -> None:
    with pytest.raises(ValueError, match='out_indices'):
        MoveNet(0.25, out_indices=(4,))


def test_packed_maps_pass_through_and_flip_with_the_input() -> None:
    network = MoveNet(0.25)
    image = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        plain, mirrored = network(image), network(image.flip(-1))
        both = torch.stack([pack(plain), pack(mirrored)], dim=-1)[:, :, None]  # (B, n, 1, 2)
        for found, expected in zip(network(both), plain, strict=True):
            torch.testing.assert_close(found, expected)
        for found, expected in zip(network(both.flip(-1)), mirrored, strict=True):
            torch.testing.assert_close(found, expected)
    with pytest.raises(ValueError, match='square'):
        network(both[:, :-1])
