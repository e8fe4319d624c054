"""Gauss's rule for Gamma variables against closed forms."""

import pytest
import torch
from scipy import special

from hetpose.ops.quadrature import gamma_nodes

SHAPES = torch.tensor([0.5, 1.0, 2.3, 40.0, 1e4], dtype=torch.float64)


def test_agrees_with_scipy():
    for shape in (0.5, 1.0, 7.5):
        nodes, weights = gamma_nodes(torch.tensor(shape), 8)
        expected, mass = special.roots_genlaguerre(8, shape - 1)
        torch.testing.assert_close(nodes, torch.tensor(expected))
        torch.testing.assert_close(weights, torch.tensor(mass / mass.sum()))


@pytest.mark.parametrize('power', [0, 1, 2, 5])
def test_moments_are_exact(power):
    nodes, weights = gamma_nodes(SHAPES)
    found = (weights * nodes**power).sum(-1)
    expected = torch.exp(torch.lgamma(SHAPES + power) - torch.lgamma(SHAPES))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=0)


def test_infinity_is_its_mean():
    nodes, weights = gamma_nodes(torch.tensor(torch.inf))
    spread = (weights * (nodes / nodes.mean() - 1).square()).sum().sqrt()
    assert spread < 1e-4
