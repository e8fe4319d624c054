"""Backbones that mmpose and mmpretrain lack."""

from hetpose.models.backbones.movenet import MoveNet
from hetpose.models.backbones.pose_vision_transformer import PoseVisionTransformer

__all__ = ['MoveNet', 'PoseVisionTransformer']
