"""Pose, tabular and synthetic data sets."""

from hetpose.datasets import regression, transforms
from hetpose.datasets.pose import LSP14, MergedDataset, PseudoLabelDataset, SyntheticPose

__all__ = [
    'regression',
    'LSP14',
    'MergedDataset',
    'PseudoLabelDataset',
    'SyntheticPose',
    'transforms',
]
