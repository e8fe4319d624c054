"""The vector z that a heatmap decoder hangs on.

Axes: B batch, C channels, (h, w) the backbone's feature map, m entries of z.
"""

from __future__ import annotations

from mmengine.model import BaseModule
from torch import Tensor, nn

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
    parameters, beside 86 M of ViT-B.

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
