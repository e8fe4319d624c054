"""The evidence and the errors of a frozen model as a data set.

Axes: N people, E entries of the evidence, d = 2K targets.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils.data import Dataset


class TensorRows(Dataset):
    """Named tensors (N, ...); a batch is one index operation per tensor.

    Use it with the collate function ``whole_batch``.
    """

    def __init__(self, **arrays: Tensor) -> None:
        lengths = {name: len(value) for name, value in arrays.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(f'the arrays have different numbers of rows: {lengths}')
        self.metainfo: dict = {}  # mmengine warns where there is none
        self.arrays = arrays

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {name: value[index] for name, value in self.arrays.items()}

    def __getitems__(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """The batch of the given rows."""
        rows = torch.as_tensor(indices)
        return {name: value.index_select(0, rows) for name, value in self.arrays.items()}


class ErrorRows(TensorRows):
    """Evidence (N, E), residual (N, d) and mask (N, d) of people."""

    def __init__(self, evidence: Tensor, residual: Tensor, mask: Tensor) -> None:
        super().__init__(evidence=evidence, residual=residual, mask=mask)
