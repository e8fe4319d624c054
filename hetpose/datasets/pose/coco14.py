"""COCO's people with the 14 joints of Leeds Sports Pose, for models that were trained on those."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from mmpose.datasets.datasets.body import CocoDataset
from mmpose.registry import DATASETS

from hetpose.datasets.pose.lsp14 import dataset_info
from hetpose.datasets.pose.lspet_coco import LIMBS
from hetpose.paths import data_root as default_root
from hetpose.paths import existing

JOINTS = 14


@DATASETS.register_module()
class COCO14Dataset(CocoDataset):
    """mmpose's CocoDataset, with the twelve limb joints that both sets have.

    Neck and top of the head are never annotated. People without an annotated limb joint are left
    out. The box is COCO's.

    Args: those of CocoDataset; ``data_root`` defaults to ``$HETPOSE_DATA/coco`` or ``data/coco``.
    """

    METAINFO: dict = {**dataset_info, 'dataset_name': 'coco14'}

    def __init__(
        self,
        ann_file: str = 'annotations/person_keypoints_val2017.json',
        data_root: str | Path | None = None,
        data_prefix: dict | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            ann_file=ann_file,
            data_root=str(default_root('coco', data_root)),
            data_prefix=dict(img='val2017') if data_prefix is None else data_prefix,
            **kwargs,
        )

    def _load_annotations(self) -> tuple[list[dict], list[dict]]:
        existing(self.ann_file, 'COCO annotations')
        return super()._load_annotations()

    def parse_data_info(self, raw_data_info: dict) -> dict | None:
        """One person with joints (1, 14, 2), or None."""
        annotation = raw_data_info['raw_ann_info']
        if 'keypoints' not in annotation:
            return None
        theirs = np.asarray(annotation['keypoints'], dtype=np.float64).reshape(-1, 3)
        ours = np.zeros((JOINTS, 3))
        ours[: len(LIMBS)] = theirs[list(LIMBS)]
        known = int((ours[:, 2] > 0).sum())
        if known == 0:
            return None
        moved = dict(annotation, keypoints=ours.flatten().tolist(), num_keypoints=known)
        return super().parse_data_info(dict(raw_data_info, raw_ann_info=moved))
