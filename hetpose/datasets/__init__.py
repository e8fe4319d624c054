"""Pose, tabular and synthetic data sets."""

from hetpose.datasets import transforms
from hetpose.datasets.pose import LSP14, MergedDataset, PseudoLabelDataset, SyntheticPose

__all__ = ['LSP14', 'MergedDataset', 'PseudoLabelDataset', 'SyntheticPose', 'transforms']
