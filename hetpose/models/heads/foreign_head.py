"""Joints and channels of a head of mmpose, and the heads that cannot be wrapped."""

from __future__ import annotations

from typing import Any

from torch import nn

from hetpose.errors import UserError

BOTTOM_UP = 'it finds all people of an image at once, and what wraps a head sees no single person'
LIFTED = 'it predicts three coordinates a joint, and the covariance is one of pixels'
REFUSED = {
    'AssociativeEmbeddingHead': BOTTOM_UP,
    'CIDHead': BOTTOM_UP,
    'DEKRHead': BOTTOM_UP,
    'EDPoseHead': BOTTOM_UP,
    'RTMOHead': BOTTOM_UP,
    'YOLOXPoseHead': BOTTOM_UP,
    'InternetHead': LIFTED,
    'MotionRegressionHead': LIFTED,
    'TemporalRegressionHead': LIFTED,
    'TrajectoryRegressionHead': LIFTED,
}


def refuse_head(head: dict) -> None:
    """Raise a UserError with the reason where a head cannot be wrapped."""
    kind = head.get('type')
    name = (kind if isinstance(kind, str) else getattr(kind, '__name__', '')).rpartition('.')[2]
    if name in REFUSED:
        raise UserError(f'{name} cannot be wrapped: {REFUSED[name]}')


def joints_of(head: nn.Module) -> int:
    """The number of joints that a head predicts."""
    found = getattr(head, 'num_joints', None) or getattr(head, 'out_channels', None)
    if not isinstance(found, int):
        raise UserError(f'{type(head).__name__}: give num_keypoints, which it does not name')
    combined = getattr(getattr(head, 'decoder', None), 'heatmap_type', None) == 'combined'
    return found // 3 if combined else found  # UDP's offset maps


def channels_of(head: nn.Module) -> int:
    """The channels of the last feature map that a head takes."""
    found = getattr(head, 'in_channels', None) or getattr(head, 'unit_channels', None)
    found = found[-1] if isinstance(found, list | tuple) else found
    if not isinstance(found, int):
        raise UserError(f'{type(head).__name__}: give feature_channels, which it does not name')
    return found


def warps_to_centres(decoder: Any) -> bool:
    """Whether the crop spans input_size − 1 pixels, as for UDP."""
    return type(decoder).__name__ == 'UDPHeatmap' or bool(getattr(decoder, 'use_udp', False))
