"""Soft-argmax: the mean pixel coordinate under a softmax over each heatmap."""

import torch
from torch import Tensor

from hetpose.ops.validation import full_precision, shape_of


@full_precision
def soft_argmax(heatmaps: Tensor, temperature: float | Tensor = 1.0) -> Tensor:
    """Σ_i p_i c_i with p = softmax(temperature · heatmap) and c_i = (x, y) the centre of pixel i.

    Shapes: heatmaps (..., K, H, W) -> (..., K, 2), in pixels from 0 to W - 1 and H - 1.
    """
    if heatmaps.ndim < 3:
        raise ValueError(f'heatmaps: expected shape (..., K, H, W), got {shape_of(heatmaps)}')
    height, width = heatmaps.shape[-2:]
    weights = (temperature * heatmaps).flatten(-2).softmax(-1).unflatten(-1, (height, width))
    columns = torch.arange(width, dtype=weights.dtype, device=weights.device)
    rows = torch.arange(height, dtype=weights.dtype, device=weights.device)
    x = (weights.sum(-2) * columns).sum(-1)
    y = (weights.sum(-1) * rows).sum(-1)
    return torch.stack((x, y), dim=-1)
