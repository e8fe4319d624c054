import pytest
import torch
from torch import nn

from hetpose.ops.taylor.feedforward import Residual, ResidualMLP


def test_residual_adds_its_input():
    layer = nn.Linear(4, 4)
    x = torch.randn(3, 4)
    torch.testing.assert_close(Residual(layer)(x), x + layer(x))


def test_mlp_has_the_layout_of_the_protocol():
    mlp = ResidualMLP(3, 2, 11)
    kinds = [type(module) for module in mlp]
    assert kinds == [nn.Linear, *[Residual] * 6, nn.Linear]
    assert [type(module) for module in mlp[1]] == [nn.ELU]
    block = [type(module) for module in mlp[2]]
    assert block == [nn.Linear, nn.ELU, nn.Linear, nn.BatchNorm1d, nn.ELU]
    assert mlp(torch.randn(5, 3)).shape == (5, 2)


def test_univariate_variant():
    mlp = ResidualMLP(1, 1, 50, blocks=2, activation='tanh')
    assert sum(isinstance(module, nn.Tanh) for module in mlp.modules()) == 5
    assert not any(isinstance(module, nn.ELU) for module in mlp.modules())


@pytest.mark.parametrize(
    ('name', 'value'),
    [('in_dim', 0), ('out_dim', 0), ('width', 0), ('blocks', -1), ('activation', 'cosine')],
)
def test_bad_arguments_are_named(name, value):
    arguments = dict(in_dim=2, out_dim=2, width=4) | {name: value}
    with pytest.raises(ValueError, match=name):
        ResidualMLP(**arguments)
