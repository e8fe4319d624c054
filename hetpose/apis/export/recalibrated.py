"""An exported model whose covariance is recalibrated within the file.

Axes: B batch, K joints, d = 2K.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hetpose.apis.calibration.recalibration import Recalibration
from hetpose.errors import UserError
from hetpose.ops.affine import scale_covariance

PIXEL_SIZE = 'pixel_size'


class RecalibratedPose(nn.Module):
    """Σ → D^½ΣD^½ + diag(β) / s², of a module whose Σ is in input pixels².

    β was fitted in image pixels², so that a second input is needed: s (B,), image pixels per input
    pixel, the size of the crop in the image divided by that of the network's input.
    """

    alpha: Tensor
    beta: Tensor

    def __init__(self, module: Any, recalibration: Recalibration) -> None:
        super().__init__()
        head = module.head
        dim = head.dim if hasattr(head, 'dim') else head.errors.dim
        if dim != recalibration.dim:
            raise UserError(
                f'the calibration is of {recalibration.dim // 2} joints, the file has {dim // 2}: '
                'it cannot be exported with test_cfg.output_keypoint_indices'
            )
        self.module = module
        self.place = -2 if head.covariance.heavy_tailed else -1  # of Σ among the outputs
        repeat = recalibration.dim // len(recalibration.alpha)
        for name in ('alpha', 'beta'):
            numbers = torch.tensor(getattr(recalibration, name)).repeat_interleave(repeat)
            self.register_buffer(name, numbers)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of what ``forward`` takes."""
        return (*self.module.inputs, PIXEL_SIZE)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what ``forward`` returns."""
        return self.module.outputs

    def __getattr__(self, name: str) -> Any:
        """Attributes that describe the file are those of the module within."""
        if name in ('input_size', 'swap_channels', 'units'):
            return getattr(self.module, name)
        return super().__getattr__(name)

    def example(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Inputs to check the file with."""
        size = 0.5 + 3 * torch.rand(count, generator=generator)
        return (*self.module.example(count, generator), size)

    def forward(self, image: Tensor, pixel_size: Tensor) -> tuple[Tensor, ...]:
        found = list(self.module(image))
        floor = torch.diag_embed(self.beta / pixel_size[:, None].square())
        found[self.place] = scale_covariance(found[self.place], self.alpha.sqrt()) + floor
        return tuple(found)
