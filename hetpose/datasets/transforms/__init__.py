"""Transforms that move keypoints, image and covariance together."""

from hetpose.datasets.transforms.albumentations_affine import CovarianceRandomAffine
from hetpose.datasets.transforms.covariance import COVARIANCE_KEYS, attach_factor
from hetpose.datasets.transforms.flip import CovarianceRandomFlip
from hetpose.datasets.transforms.guard import check_pipeline
from hetpose.datasets.transforms.loading import LoadPoseImage
from hetpose.datasets.transforms.topdown_affine import CovarianceTopdownAffine

__all__ = [
    'COVARIANCE_KEYS',
    'CovarianceRandomFlip',
    'CovarianceRandomAffine',
    'CovarianceTopdownAffine',
    'LoadPoseImage',
    'attach_factor',
    'check_pipeline',
]
