"""Images are normalised; feature maps that were computed before pass through."""

from __future__ import annotations

from typing import Any

import torch
from mmpose.models.data_preprocessors import PoseDataPreprocessor
from mmpose.registry import MODELS


@MODELS.register_module()
class FeaturePreprocessor(PoseDataPreprocessor):
    """mmpose's PoseDataPreprocessor, which leaves floating point inputs as they are.

    uint8 inputs are images. Anything else is what ``FeatureViewDataset`` gives, (n, 1, w) a
    sample, and becomes a float32 batch (B, n, 1, w).
    """

    def forward(self, data: dict, training: bool = False) -> dict[str, Any]:
        """Data as mmengine collates it → inputs (B, ...) and data samples on the device."""
        first = data['inputs'][0]
        if first.dtype == torch.uint8:
            return super().forward(data, training)
        data = self.cast_data(data)
        inputs = data['inputs']
        batch = inputs if isinstance(inputs, torch.Tensor) else torch.stack(list(inputs))
        return dict(inputs=batch.float(), data_samples=data.get('data_samples'))
