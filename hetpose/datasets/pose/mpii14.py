"""MPII with the 14 joints of Leeds Sports Pose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from mmengine.logging import print_log
from mmpose.datasets.datasets.body import MpiiDataset
from mmpose.registry import DATASETS

from hetpose.datasets.pose.lsp14 import dataset_info
from hetpose.paths import data_root as default_root
from hetpose.paths import existing

# LSP's joint j is MPII's joint _FROM_MPII[j]; LSP's neck is MPII's upper neck.
_FROM_MPII = (0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 8, 9)
_NECK, _HEAD = 12, 13
HEAD_TOWARDS_NECK = 0.2  # MPII marks the top of the skull, LSP a point below it


def to_lsp14(joints: np.ndarray) -> np.ndarray:
    """MPII joints (..., 16, 2) as LSP ones (..., 14, 2), head top lowered towards the neck."""
    moved = joints[..., _FROM_MPII, :].copy()
    moved[..., _HEAD, :] += HEAD_TOWARDS_NECK * (moved[..., _NECK, :] - moved[..., _HEAD, :])
    return moved


@DATASETS.register_module()
class MPII14Dataset(MpiiDataset):
    """mmpose's MpiiDataset, with LSP's 14 joints and only persons that have all of them.

    Args: those of MpiiDataset; ``data_root`` defaults to ``$HETPOSE_DATA/mpii`` or ``data/mpii``.
    """

    METAINFO: dict = {**dataset_info, 'dataset_name': 'mpii14'}

    def __init__(
        self,
        ann_file: str = 'annotations/mpii_train.json',
        data_root: str | Path | None = None,
        data_prefix: dict | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            ann_file=ann_file,
            data_root=str(default_root('mpii', data_root)),
            data_prefix=dict(img='images') if data_prefix is None else data_prefix,
            **kwargs,
        )

    def _load_annotations(self) -> tuple[list[dict], list[dict]]:
        existing(self.ann_file, 'MPII annotations')
        instances, images = super()._load_annotations()
        whole = []
        for instance in instances:
            visible = np.asarray(instance['keypoints_visible'])[:, _FROM_MPII]
            if not (visible > 0).all():
                continue
            # The box holds the same; with both, mmpose's GetBBoxCenterScale warns at every sample.
            del instance['bbox_center'], instance['bbox_scale']
            instance['keypoints'] = to_lsp14(instance['keypoints'])
            instance['keypoints_visible'] = np.ones((1, 14), np.float32)
            whole.append(instance)
        print_log(
            f'mpii14: {len(whole)} persons with all 14 joints; left out: '
            f'{len(instances) - len(whole)} without',
            logger='current',
        )
        return whole, images
