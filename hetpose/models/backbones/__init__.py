"""Backbones that mmpose and mmpretrain lack."""

from hetpose.models.backbones.pose_vision_transformer import PoseVisionTransformer

__all__ = ['PoseVisionTransformer']
