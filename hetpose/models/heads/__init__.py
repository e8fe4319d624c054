"""Pose heads that predict a mean and a covariance."""

from hetpose.models.heads.bottleneck import Bottleneck
from hetpose.models.heads.heteroscedastic_head import HeteroscedasticHead, PoseDistribution
from hetpose.models.heads.pose_prediction import fuse_mirrored, joint_blocks

__all__ = [
    'Bottleneck',
    'HeteroscedasticHead',
    'PoseDistribution',
    'fuse_mirrored',
    'joint_blocks',
]
