import pytest
import torch
from torch import nn

from hetpose.ops.taylor.pointwise import compose, pointwise, with_skip

ACTIVATIONS = [
    nn.ELU(),
    nn.ELU(alpha=1.7),
    nn.Tanh(),
    nn.Sigmoid(),
    nn.SiLU(),
    nn.Softplus(),
    nn.Softplus(beta=3, threshold=2),
    nn.GELU(),
    nn.GELU(approximate='tanh'),
    nn.ReLU(),
    nn.LeakyReLU(0.2),
]


def autograd_derivatives(function, a):
    a = a.clone().requires_grad_()
    value = function(a)
    (first,) = torch.autograd.grad(value.sum(), a, create_graph=True)
    second = torch.zeros_like(a)
    if first.requires_grad:
        (found,) = torch.autograd.grad(first.sum(), a, allow_unused=True)
        second = second if found is None else found
    return value, first, second


def check(mine, module):
    # An even count leaves out 0, where some second derivatives do not exist.
    a = torch.linspace(-6, 6, 98, dtype=torch.float64).unsqueeze(0)
    found = mine(a)
    second = torch.zeros_like(a) if found.second is None else found.second
    for one, other in zip(
        (found.value, found.first, second), autograd_derivatives(module, a), strict=True
    ):
        torch.testing.assert_close(one.expand_as(a), other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize('module', ACTIVATIONS, ids=str)
def test_derivatives_are_those_of_autograd(module):
    check(pointwise(module), module)


@pytest.mark.parametrize('module', ACTIVATIONS, ids=str)
def test_composition_and_skip_follow_the_chain_rule(module):
    check(compose([pointwise(module), pointwise(nn.Tanh())]), lambda a: torch.tanh(module(a)))
    check(with_skip(pointwise(module)), lambda a: a + module(a))


def test_batch_norm_is_its_eval_mode():
    norm = nn.BatchNorm1d(98).double().eval()
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    check(pointwise(norm), norm)
    check(compose([pointwise(norm), pointwise(nn.ELU())]), nn.Sequential(norm, nn.ELU()))


def test_unknown_modules_are_none():
    assert pointwise(nn.LayerNorm(3)) is None


def test_batch_norm_without_statistics_is_refused():
    with pytest.raises(ValueError, match='network'):
        pointwise(nn.BatchNorm1d(3, track_running_stats=False))
