"""The annotated joints that a prediction has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hetpose.errors import UserError


def predicted_joints(predicted: Mapping[str, Any], annotated: int) -> np.ndarray:
    """Indices (K',) of the predicted joints among the K annotated ones, in their order.

    A model whose ``test_cfg.output_keypoint_indices`` is set predicts the joints that its field
    keypoint_indices (1, K') names; any other model predicts all K.
    """
    count = np.asarray(predicted['keypoints']).shape[-2]
    indices = predicted.get('keypoint_indices')
    joints = np.arange(annotated) if indices is None else np.asarray(indices)[0].astype(int)
    if len(joints) != count or (len(joints) and joints.max() >= annotated):
        raise UserError(
            f'the model predicts {count} joints and the data have {annotated}: set '
            'model.test_cfg.output_keypoint_indices to the joints of the data'
        )
    return joints
