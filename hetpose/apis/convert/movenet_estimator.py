"""A converted MoveNet as the checkpoint of a TopdownPoseEstimator with MoveNetHead."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from hetpose.errors import UserError
from hetpose.fileio import atomic_path
from hetpose.models.heads.movenet_heads import MoveNetPose


def estimator_weights(network: MoveNetPose) -> dict[str, Tensor]:
    """The weights of a network of one person by the names that the estimator has for them."""
    if network.many:
        raise UserError('MoveNetHead decodes one person: give Lightning or Thunder')
    return {
        name if name.startswith('backbone.') else f'head.{name}': value
        for name, value in network.state_dict().items()
    }


def save_estimator(network: MoveNetPose, path: str | Path) -> None:
    """Write them, for configs/frozen."""
    with atomic_path(path) as temporary:
        torch.save(dict(state_dict=estimator_weights(network)), temporary)
