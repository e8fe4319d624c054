"""The labels of a batch as ``SoftArgmaxCodec`` encoded them.

Axes: B batch, K joints, (H, W) heatmap.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hetpose.errors import UserError
from hetpose.models.objectives import Objective

ACCURACY_THRESHOLD = 0.05  # of the heatmap's longer side, for the accuracy in the training log


class PoseLabels(NamedTuple):
    """The labels of a batch, in heatmap units."""

    heatmaps: Tensor  # (B, K, H, W)
    target: Tensor  # (B, 2K)
    weights: Tensor  # (B, K), 0 for a missing joint
    root: Tensor | None  # (B, 2K, 2K), the symmetric root of the pseudo-label

    @classmethod
    def stacked(cls, samples: list, objective: Objective) -> PoseLabels:
        """The labels of all samples; the pseudo-labels only if the objective reads them."""
        labels = [sample.gt_instance_labels for sample in samples]
        root = None
        if objective.needs_target_covariance:
            if any('pseudo_root' not in label for label in labels):
                raise UserError(
                    f'{type(objective).__name__} needs pseudo-labels: make a file of them '
                    'with tools/pseudo_labels.py and name it in train_dataloader.dataset.file'
                )
            root = torch.cat([label.pseudo_root for label in labels])
        return cls(
            heatmaps=torch.stack([sample.gt_fields.heatmaps for sample in samples]),
            target=torch.cat([label.keypoint_labels for label in labels]).flatten(-2),
            weights=torch.cat([label.keypoint_weights for label in labels]),
            root=root,
        )

    @property
    def mask(self) -> Tensor:
        """True where a coordinate is labelled, (B, 2K)."""
        return self.weights.repeat_interleave(2, dim=-1) > 0

    def accuracy(self, mean: Tensor, longer_side: int) -> Tensor:
        """Share of the labelled joints whose mean (B, 2K) lies close to the label."""
        distance = (mean - self.target).unflatten(-1, (-1, 2)).norm(dim=-1)
        present = self.weights > 0
        close = distance < ACCURACY_THRESHOLD * longer_side
        return (close & present).sum() / present.sum().clamp_min(1)
