"""Transforms that move keypoints, image and covariance together."""

from hetpose.datasets.transforms.albumentations_affine import CovarianceRandomAffine
from hetpose.datasets.transforms.covariance import (
    COVARIANCE_KEYS,
    CovarianceRandomFlip,
    CovarianceTopdownAffine,
    attach_factor,
)
from hetpose.datasets.transforms.guard import check_pipeline
from hetpose.datasets.transforms.loading import LoadPoseImage

__all__ = [
    'COVARIANCE_KEYS',
    'CovarianceRandomFlip',
    'CovarianceRandomAffine',
    'CovarianceTopdownAffine',
    'LoadPoseImage',
    'attach_factor',
    'check_pipeline',
]
