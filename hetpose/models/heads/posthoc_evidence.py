"""The features and outputs of a frozen pose model, as one vector per person.

Axes: B batch, K joints, C channels, (h, w) feature map, (H, W) heatmap, F entries of the pooled
features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from hetpose.errors import UserError
from hetpose.ops.spread import STATISTICS, map_statistics, vector_statistics

LARGEST_GRID = 4
MOST_FEATURES = 8192
"""Pooled features of one person; few channels are pooled over more places than many are."""


def pooling_grid(channels: int) -> int:
    """Places along each axis over which C channels are pooled: 4 for few channels, 1 for many."""
    return max(1, min(LARGEST_GRID, math.isqrt(MOST_FEATURES // channels)))


def last_features(feats: Any) -> Tensor:
    """The last feature map of whatever a backbone or neck returns, (B, C, h, w) or (B, C)."""
    while isinstance(feats, Sequence) and not isinstance(feats, Tensor):
        feats = feats[-1]
    return feats


def pooled_features(feats: Any, grid: int) -> Tensor:
    """The last feature map, averaged over grid × grid places: (B, F), F = C · grid²."""
    features = last_features(feats)
    features = features if features.ndim == 4 else features.flatten(1)[..., None, None]
    if features.shape[-2:] == (1, 1):
        return features.expand(-1, -1, grid, grid).flatten(1).float()
    return adaptive_avg_pool2d(features, grid).flatten(1).float()


def joint_evidence(outputs: Any, joints: int) -> Tensor:
    """Statistics (B, K, 8) of the raw outputs of a head; see ``STATISTICS``.

    Understood are heatmaps (B, K, H, W), with UDP's offset maps between them (B, 3K, H, W); lists
    of heatmaps, the last of which counts; SimCC vectors (B, K, W) and (B, K, H); coordinates
    (B, K, 2), with σ (B, K, 4); and coordinates, or coordinates with scores (B, K, 3), with the
    heatmaps that they were read from. What a head does not have is 0.
    """
    if isinstance(outputs, list):
        outputs = outputs[-1]
    if isinstance(outputs, Tensor):
        return _of_tensor(outputs.detach().float(), joints)
    if isinstance(outputs, tuple) and len(outputs) == 2:
        first, second = (part.detach().float() for part in outputs)
        if first.ndim == 3 and second.ndim == 4:  # coordinates and their heatmaps
            own = first.shape[-1]  # 2, or 3 with a score
            return torch.cat([first, map_statistics(second)[..., own:]], dim=-1)
        if first.ndim == second.ndim == 3 and first.shape[1] == second.shape[1] == joints:
            return vector_statistics(first, second)
    raise UserError(
        f'PosthocCovarianceHead cannot read outputs of the form {_form(outputs)} for {joints} '
        'joints; known are heatmaps, SimCC vectors and coordinates'
    )


def _of_tensor(outputs: Tensor, joints: int) -> Tensor:
    if outputs.ndim == 4 and outputs.shape[1] in (joints, 3 * joints):
        return map_statistics(outputs[:, :: outputs.shape[1] // joints])
    if outputs.ndim == 3 and outputs.shape[1] == joints and outputs.shape[-1] in (2, 4):
        statistics = outputs.new_zeros(*outputs.shape[:2], STATISTICS)
        statistics[..., :2] = outputs[..., :2]
        if outputs.shape[-1] == 4:  # residual log-likelihood: σ before its sigmoid
            deviations = outputs[..., 2:].sigmoid()
            statistics[..., 2] = 1 - deviations.mean(-1)
            statistics[..., 5:7] = deviations.clamp_min(1e-6).log()
        return statistics
    raise UserError(
        f'PosthocCovarianceHead cannot read an output of shape {tuple(outputs.shape)} for '
        f'{joints} joints; give num_keypoints if that is not the number of joints'
    )


def _form(outputs: Any) -> str:
    if isinstance(outputs, Tensor):
        return str(tuple(outputs.shape))
    if isinstance(outputs, Sequence):
        return '[' + ', '.join(_form(part) for part in outputs) + ']'
    return type(outputs).__name__
