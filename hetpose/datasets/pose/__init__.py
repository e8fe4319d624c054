"""Pose data sets: Leeds Sports Pose, its extension, MPII and COCO with its joints, figures."""

from hetpose.datasets.pose.coco14 import COCO14Dataset
from hetpose.datasets.pose.feature_views import FeatureViewDataset
from hetpose.datasets.pose.lsp import LSPDataset, LSPETDataset
from hetpose.datasets.pose.lsp14 import dataset_info as LSP14
from hetpose.datasets.pose.lspet_coco import LSPETCocoDataset
from hetpose.datasets.pose.mpii14 import MPII14Dataset
from hetpose.datasets.pose.pseudo_label_file import PseudoLabelFile
from hetpose.datasets.pose.synthetic import SyntheticPose
from hetpose.datasets.pose.wrappers import MergedDataset, PseudoLabelDataset

__all__ = [
    'COCO14Dataset',
    'FeatureViewDataset',
    'LSP14',
    'LSPDataset',
    'LSPETCocoDataset',
    'LSPETDataset',
    'MPII14Dataset',
    'MergedDataset',
    'PseudoLabelDataset',
    'PseudoLabelFile',
    'SyntheticPose',
]
