"""The fused map has the second finest map's size and hears from all of them."""

import pytest
import torch

from hetpose.models.necks import PyramidFusion

CHANNELS = (8, 6, 4, 3)


def maps() -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(2, c, 2 * 2**i, 3 * 2**i) for i, c in enumerate(CHANNELS)]


def test_shape() -> None:
    (fused,) = PyramidFusion(CHANNELS, channels=10)(maps())
    assert fused.shape == (2, 10, 8, 12)


@pytest.mark.parametrize('level', range(4))
def test_every_map_matters(level: int) -> None:
    neck, inputs = PyramidFusion(CHANNELS, channels=10).eval(), maps()
    (before,) = neck(inputs)
    inputs[level] = inputs[level] + 1
    (after,) = neck(inputs)
    assert not torch.allclose(before, after)


def test_foreign_heatmaps_join_the_finest_map_and_stay_as_they_are() -> None:
    head = dict(type='MoveNetMapHead', outputs=2)
    neck = PyramidFusion((8, 6, 4, 24), channels=10, heatmaps=head)
    torch.manual_seed(0)
    inputs = [torch.randn(2, c, 2 * 2**i, 2 * 2**i) for i, c in enumerate((8, 6, 4, 24))]
    (before,) = neck(inputs)
    before.sum().backward()
    assert all(p.grad is None for p in neck.heatmaps.parameters())
    neck.heatmaps.out.bias.data += 3
    (after,) = neck(inputs)
    assert not torch.allclose(before, after)
