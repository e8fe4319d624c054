"""From the bottleneck vector to a covariance.

Axes: B batch, d targets, m entries of z.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import torch
from mmengine.logging import print_log
from mmpose.registry import MODELS
from torch import Tensor, nn

from hetpose.models.covariance import CovarianceParameterisation
from hetpose.ops.covariance import Covariance
from hetpose.ops.taylor.feedforward import ResidualMLP
from hetpose.ops.taylor.terms import TaylorTerms

Config = dict[str, Any]


class CovarianceBranch(nn.Module):
    """Σ = parameterisation(net(z)), with the gradient stopped at z.

    The network has d² + 2 outputs whatever the parameterisation, which reads as many as it needs,
    so that a switch keeps every weight; without ``spare`` ones it has those of its own
    parameterisation only. The last layer starts at Σ = I for every z.

    Args:
        in_dim: m.
        dim: d.
        covariance: config of the parameterisation.
        width, blocks: size of the residual network.
        spare: whether there are outputs for every parameterisation.
    """

    def __init__(
        self,
        in_dim: int,
        dim: int,
        covariance: Config,
        width: int = 256,
        blocks: int = 2,
        spare: bool = True,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.config = dict(covariance)
        self.parameterisation: CovarianceParameterisation = MODELS.build(covariance)
        self.parameterisation.prepare(dim)  # a moving average copies buffers of their final size
        needed = self.parameterisation.num_outputs(dim)
        outputs = dim * dim + 2 if spare else needed
        self.net = ResidualMLP(in_dim, outputs, width, blocks) if needed else None
        self.init_weights()

    @torch.no_grad()
    def init_weights(self) -> None:
        """Let the network's outputs be those of Σ = I."""
        if self.net is None:
            return
        last = self.net[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        start = self.parameterisation.identity_outputs(self.dim)
        last.bias[: len(start)] = start

    def forward(
        self, z: Tensor, taylor: TaylorTerms | None, dtype: torch.dtype = torch.float32
    ) -> Covariance:
        """Z (B, m) → Σ (B, d, d), formed from the network's outputs in ``dtype``."""
        count = self.parameterisation.num_outputs(self.dim)
        if count == 0:
            return self.parameterisation(z[:, :0].to(dtype), self.dim, taylor)
        assert self.net is not None
        raw = self.net(z.detach())[:, :count]
        return self.parameterisation(raw.to(dtype), self.dim, taylor)

    def switch(self, covariance: Config) -> None:
        """Go on with another parameterisation, from Σ = I; the same one is left alone."""
        if dict(covariance) == self.config:
            return
        built = MODELS.build(covariance)
        if self.net is None and built.num_outputs(self.dim):
            raise ValueError(
                f'a model built with {self.config["type"]} has no covariance network: '
                f'it cannot switch to {covariance["type"]}'
            )
        built.prepare(self.dim)
        device = next((p.device for p in self.parameters()), None)
        self.parameterisation = built.to(device).train(self.training)
        self.config = dict(covariance)
        self.init_weights()

    def get_extra_state(self) -> Tensor:
        """Which parameterisation the weights belong to, as bytes: mmengine saves tensors only."""
        return torch.tensor(
            list(json.dumps(self.config, sort_keys=True).encode()), dtype=torch.uint8
        )

    def set_extra_state(self, state: Tensor) -> None:
        """Go to the parameterisation of a checkpoint; of the same one keep the own settings."""
        stored = json.loads(bytes(state.tolist()).decode())
        if _meaning(stored) == _meaning(self.config):
            return
        print_log(
            f'the checkpoint holds the weights of {stored}: it replaces {self.config}',
            logger='current',
            level=logging.WARNING,
        )
        self.switch(stored)

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *args: Any) -> None:
        # Before the children are read: their buffers belong to the checkpoint's parameterisation.
        state = state_dict.get(f'{prefix}_extra_state')
        if state is not None:
            self.set_extra_state(state)
        super()._load_from_state_dict(state_dict, prefix, *args)


def _meaning(covariance: Config) -> tuple[str, str | None]:
    """What decides how the network's outputs are read; floors do not."""
    return covariance['type'], MODELS.build(covariance).taylor_order
