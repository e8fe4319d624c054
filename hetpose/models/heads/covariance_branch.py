"""The bottleneck vector z, and the branch that reads a covariance from it.

Axes: B batch, C channels, (h, w) the backbone's feature map, d targets, m entries of z.
"""

from __future__ import annotations

from typing import Any

import torch
from mmengine.model import BaseModule
from mmpose.registry import MODELS
from torch import Tensor, nn

from hetpose.models.covariance import CovarianceParameterisation
from hetpose.models.phase import same_meaning
from hetpose.ops.covariance import Covariance
from hetpose.ops.taylor.feedforward import ResidualMLP
from hetpose.ops.taylor.terms import TaylorTerms

Config = dict[str, Any]
SQUEEZED_CHANNELS = 16
GRID = 8
LIFT_STD = 0.01
"""Standard deviation of the lift's last weights at the start.

Zero would leave a published checkpoint's heatmaps exactly as they were, but then J = ∂mean/∂z is 0
and a Taylor-induced covariance has nothing to work with. At 0.01 the lifted map is about 2% of a
unit-variance feature map: too little to move the heatmaps, enough for J to point somewhere.
"""


class Bottleneck(BaseModule):
    """F (B, C, h, w) → z (B, m) → lift(z) (B, C, h, w), with few parameters.

    Down: 1×1 convolution to 16 channels, ReLU, average over an 8×8 grid, Linear(1024, m),
    LayerNorm. The grid keeps where things are, which a global average would lose; the norm gives
    z, and with it J, a fixed scale. Lift: Linear(m, 1024), nearest-neighbour upsampling, 1×1
    convolution to C channels; linear in z and without bias. At C = 768, m = 64 this is 0.16 M
    parameters; ViT-B has 86 M.

    Args:
        channels: C.
        feature_size: (h, w).
        dim: m.
    """

    def __init__(self, channels: int, feature_size: tuple[int, int], dim: int = 64) -> None:
        super().__init__()
        if dim < 1:
            raise ValueError(f'dim must be at least 1, got {dim}')
        self.dim = dim
        grid = (min(GRID, feature_size[0]), min(GRID, feature_size[1]))
        squeezed = SQUEEZED_CHANNELS * grid[0] * grid[1]
        self.down = nn.Sequential(
            nn.Conv2d(channels, SQUEEZED_CHANNELS, kernel_size=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(grid),
            nn.Flatten(),
            nn.Linear(squeezed, dim),
            nn.LayerNorm(dim),
        )
        self.lift = nn.Sequential(
            nn.Linear(dim, squeezed, bias=False),
            nn.Unflatten(-1, (SQUEEZED_CHANNELS, *grid)),
            nn.Upsample(size=tuple(feature_size), mode='nearest'),
            nn.Conv2d(SQUEEZED_CHANNELS, channels, kernel_size=1, bias=False),
        )
        self.init_weights()

    def init_weights(self) -> None:
        """PyTorch's defaults and a small lift, whatever a parent's init_cfg did to them."""
        for module in (*self.down, *self.lift):
            if isinstance(module, nn.Conv2d | nn.Linear | nn.LayerNorm):
                module.reset_parameters()
        last = self.lift[-1]
        assert isinstance(last, nn.Conv2d)
        nn.init.normal_(last.weight, std=LIFT_STD)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """F (B, C, h, w) → z (B, m) and F + lift(z) (B, C, h, w)."""
        z = self.down(features)
        return z, features + self.lift(z)


class CovarianceBranch(nn.Module):
    """Σ = parameterisation(net(z)), with the gradient stopped at z.

    The network has d² + 2 outputs whatever the parameterisation, which reads as many as it needs,
    so that a switch keeps every weight; more where its own parameterisation or ``outputs`` ask for
    more. Without ``spare`` ones it has those of its own parameterisation only. The last layer
    starts at Σ = I for every z.

    Args:
        in_dim: m.
        dim: d.
        covariance: config of the parameterisation.
        width, blocks: size of the residual network.
        spare: whether there are d² + 2 outputs, enough for nearly every parameterisation.
        outputs: least number of outputs, for a switch to one that needs more.
        evidence: n further inputs, which are scaled to mean 0 and variance 1 over what is trained
            on.
    """

    def __init__(
        self,
        in_dim: int,
        dim: int,
        covariance: Config,
        width: int = 256,
        blocks: int = 2,
        spare: bool = True,
        evidence: int = 0,
        outputs: int = 0,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.config = dict(covariance)
        self.parameterisation: CovarianceParameterisation = MODELS.build(covariance)
        self.parameterisation.prepare(dim)  # a moving average copies buffers of their final size
        needed = self.parameterisation.num_outputs(dim)
        outputs = max(dim * dim + 2, needed, outputs) if spare else needed
        self.outputs = outputs if needed else 0
        self.norm = nn.BatchNorm1d(evidence, affine=False) if evidence else None
        self.net = ResidualMLP(in_dim + evidence, outputs, width, blocks) if needed else None
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
        self,
        z: Tensor,
        taylor: TaylorTerms | None,
        dtype: torch.dtype = torch.float32,
        evidence: Tensor | None = None,
    ) -> Covariance:
        """Z (B, m), with evidence (B, n) → Σ (B, d, d), formed in ``dtype``."""
        count = self.parameterisation.num_outputs(self.dim)
        if count == 0:
            return self.parameterisation(z[:, :0].to(dtype), self.dim, taylor)
        assert self.net is not None
        inputs = z.detach()
        if self.norm is not None:
            assert evidence is not None
            inputs = torch.cat([inputs, self.norm(evidence.detach())], dim=1)
        raw = self.net(inputs)[:, :count]
        return self.parameterisation(raw.to(dtype), self.dim, taylor)

    def switch(self, covariance: Config) -> None:
        """Go on with another parameterisation, from Σ = I.

        One that reads the network's outputs as the last did, with another floor for example, goes
        on with the learned weights and the anchor.
        """
        if dict(covariance) == self.config:
            return
        built: CovarianceParameterisation = MODELS.build(covariance)
        if self.net is None and built.num_outputs(self.dim):
            raise ValueError(
                f'a model built with {self.config["type"]} has no covariance network: '
                f'it cannot switch to {covariance["type"]}'
            )
        built.check_outputs(self.dim, self.outputs)
        built.prepare(self.dim)
        goes_on = same_meaning(covariance, self.config)
        if goes_on:
            built.load_state_dict(self.parameterisation.state_dict())
        device = next((p.device for p in self.parameters()), None)
        self.parameterisation = built.to(device).train(self.training)
        self.config = dict(covariance)
        if not goes_on:
            self.init_weights()
