"""Pose heads that predict a mean and a covariance."""

from hetpose.models.heads.covariance_branch import Bottleneck
from hetpose.models.heads.error_model import ErrorModel
from hetpose.models.heads.heteroscedastic_head import HeteroscedasticHead, PoseDistribution
from hetpose.models.heads.movenet_head import MoveNetHead
from hetpose.models.heads.pose_prediction import fuse_mirrored
from hetpose.models.heads.posthoc_head import PosthocCovarianceHead

__all__ = [
    'Bottleneck',
    'ErrorModel',
    'HeteroscedasticHead',
    'MoveNetHead',
    'PoseDistribution',
    'PosthocCovarianceHead',
    'fuse_mirrored',
]
