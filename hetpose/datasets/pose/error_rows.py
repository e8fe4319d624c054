"""Cached errors of a frozen model as a data set.

Axes: N people, E entries of the evidence, d = 2K targets.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils.data import Dataset


class ErrorRows(Dataset):
    """Evidence (N, E), residual (N, d) and mask (N, d); a batch is one index operation per array.

    Use it with the collate function ``whole_batch``.
    """

    def __init__(self, evidence: Tensor, residual: Tensor, mask: Tensor) -> None:
        if not len(evidence) == len(residual) == len(mask):
            raise ValueError(
                f'{len(evidence)} rows of evidence, {len(residual)} residuals, {len(mask)} masks'
            )
        self.metainfo: dict = {}  # mmengine warns where there is none
        self.arrays = dict(evidence=evidence, residual=residual, mask=mask)

    def __len__(self) -> int:
        return len(self.arrays['evidence'])

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {name: value[index] for name, value in self.arrays.items()}

    def __getitems__(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """The batch of the given rows."""
        rows = torch.as_tensor(indices)
        return {name: value.index_select(0, rows) for name, value in self.arrays.items()}
