"""Linear steps of a decoder: each adjoint is one, and together they are the Jacobian."""

import pytest
import torch
from torch import nn

from hetpose.ops.taylor.convolutional import (
    Convolution,
    backward,
    flatten,
    forward,
    largest_image,
    linearise,
)

LAYERS = {
    'conv': nn.Conv2d(3, 4, 3, padding=1),
    'strided': nn.Conv2d(3, 4, 3, stride=2, padding=1),
    'dilated': nn.Conv2d(3, 4, 3, padding=2, dilation=2),
    'grouped': nn.Conv2d(4, 6, 1, groups=2),
    'pointwise': nn.Conv2d(3, 5, 1),
    'deconv': nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1),
    'odd deconv': nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1),
}


@pytest.mark.parametrize('name', LAYERS)
def test_the_adjoint_moves_to_the_other_side_of_the_product(name: str) -> None:
    layer = LAYERS[name].double()
    x = torch.randn(2, layer.in_channels, 7, 6, dtype=torch.float64)
    value, (step,) = linearise([layer], x)
    assert isinstance(step, Convolution)
    y = torch.randn_like(value)
    torch.testing.assert_close((step.apply(x) * y).sum(), (x * step.adjoint(y)).sum())
    zero = torch.zeros_like(x)
    torch.testing.assert_close(step.apply(x), layer(x) - layer(zero))


def decoder() -> nn.Sequential:
    stack = nn.Sequential(
        nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Identity(),
        nn.Conv2d(4, 2, 1),
    ).double()
    stack[1].running_var.uniform_(0.5, 2)
    stack[1].running_mean.normal_()
    return stack.eval()


@pytest.mark.parametrize('sample', [0, 1])
def test_the_steps_are_the_jacobian_of_each_sample(sample: int) -> None:
    stack = decoder()
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    layers = flatten(stack)
    assert layers is not None
    value, steps = linearise(layers, x.clone())
    torch.testing.assert_close(value, stack(x))
    direction = torch.randn(1, 3, 4, 5, dtype=torch.float64)
    one = x[sample : sample + 1]
    moved = torch.func.jvp(stack, (one,), (direction,))[1]
    torch.testing.assert_close(forward(steps, direction, sample), moved)
    row = torch.randn_like(moved)
    pulled = torch.func.vjp(stack, one)[1](row)[0]
    torch.testing.assert_close(backward(steps, row, sample), pulled)


def test_a_channel_mix_is_absorbed() -> None:
    mix = nn.Conv2d(2, 3, 1, bias=False).double()
    for name in ('conv', 'deconv'):
        layer = LAYERS[name].double()
        x = torch.randn(1, 2, 5, 5, dtype=torch.float64)
        _, (step,) = linearise([layer], mix(x))
        assert isinstance(step, Convolution)
        merged = step.after_channel_mix(mix.weight.flatten(1))
        torch.testing.assert_close(merged.apply(x), step.apply(mix(x)))


def test_sizes_are_known_before_anything_runs() -> None:
    stack = decoder()
    x, numbers = torch.zeros(1, 3, 4, 5, dtype=torch.float64), [3 * 4 * 5]
    layers = flatten(stack)
    assert layers is not None
    for layer in layers:
        x = layer(x)
        numbers.append(x.numel())
    assert largest_image(layers, (3, 4, 5)) == (max(numbers), sum(numbers))


@pytest.mark.parametrize('part', [nn.GELU(), nn.MaxPool2d(2), nn.Conv2d(1, 1, 3, padding='same')])
def test_an_unknown_part_is_not_guessed(part: nn.Module) -> None:
    assert flatten(nn.Sequential(nn.ReLU(), part)) is None
