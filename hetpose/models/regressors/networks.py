"""Networks of the regression suites, built from a seed."""

from __future__ import annotations

from typing import Any

import torch
from mmpose.registry import MODELS
from torch import Tensor, nn

from hetpose.ops.taylor.feedforward import ResidualMLP

MODELS.register_module(module=ResidualMLP)


@MODELS.register_module()
class FreeVector(nn.Module):
    """One trainable vector for every input: (B, m) → (B, out_dim).

    Args:
        in_dim: not used by the values; kept so that networks are built alike.
        out_dim: length of the vector.
    """

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.in_dim = in_dim
        self.values = nn.Parameter(torch.zeros(out_dim))

    def forward(self, x: Tensor) -> Tensor:
        return self.values.expand(len(x), -1)


def build_networks(
    network: dict[str, Any], in_dim: int, out_dim: int, seed: int, covariance_outputs: int = 0
) -> tuple[nn.Module, nn.Module]:
    """The mean network (→ d) and the covariance network (→ d² + 2), without shared parameters.

    The covariance network has more outputs where ``covariance_outputs`` asks for more.

    Their weights depend on the seed and the dimensions alone, so every method of a trial starts
    from the same ones. Width defaults to d² + 2.
    """
    raw_dim = out_dim * out_dim + 2
    config = dict(network)
    if config['type'] == 'ResidualMLP' and config.get('width') is None:
        config['width'] = raw_dim
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        mean = MODELS.build(dict(config, in_dim=in_dim, out_dim=out_dim))
        outputs = max(raw_dim, covariance_outputs)
        covariance = MODELS.build(dict(config, in_dim=in_dim, out_dim=outputs))
    return mean, covariance
