"""Leeds Sports Pose Extended with COCO's joints, for models that were trained on COCO."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from mmpose.registry import DATASETS

from hetpose.datasets.pose.lsp import LSPETDataset

JOINTS = 17
# LSP's joint j is COCO's joint LIMBS[j]; neck and head top are no joints of COCO.
LIMBS = (16, 14, 12, 11, 13, 15, 10, 8, 6, 5, 7, 9)


@DATASETS.register_module()
class LSPETCocoDataset(LSPETDataset):
    """The twelve limb joints in COCO's order; nose, eyes and ears are not labelled.

    The box is that of the labelled joints, neck and head included, without a margin.
    """

    METAINFO: dict = dict(from_file='configs/_base_/datasets/coco.py')
    margin = 0.0

    @staticmethod
    def _record(
        number: int, path: Path, joints: np.ndarray, visible: np.ndarray, box: np.ndarray
    ) -> dict[str, Any]:
        moved, seen = np.zeros((JOINTS, 2)), np.zeros(JOINTS, bool)
        moved[list(LIMBS)], seen[list(LIMBS)] = joints[: len(LIMBS)], visible[: len(LIMBS)]
        return LSPETDataset._record(number, path, moved, seen, box)
