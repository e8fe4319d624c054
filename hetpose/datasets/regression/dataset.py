"""One split of a regression source as a data set, and its batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from mmengine.registry import FUNCTIONS
from mmpose.registry import DATASETS
from torch import Tensor
from torch.utils.data import Dataset

from hetpose.datasets.regression.source import SPLITS, load_splits
from hetpose.errors import unknown_name


@DATASETS.register_module()
class RegressionDataset(Dataset):
    """Rows of a split. A batch is one index operation per array: use it with ``whole_batch``.

    Keys of a batch: x (B, m), y (B, d), and where known target_root, true_mean, true_covariance.

    Args:
        source: config of a registered regression source.
        split: 'train', 'val' or 'test'.
    """

    deterministic = True  # it draws no random numbers

    def __init__(self, source: dict[str, Any], split: str = 'train') -> None:
        if split not in SPLITS:
            raise unknown_name('split', split, SPLITS)
        self.arrays = load_splits(source)[split]
        self._present = self.arrays.present()
        self.metainfo = {'source': dict(source), 'split': split}

    def __len__(self) -> int:
        return len(self.arrays)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {name: value[index] for name, value in self._present.items()}

    def __getitems__(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """The batch of the given rows."""
        rows = torch.as_tensor(indices)
        return {name: value.index_select(0, rows) for name, value in self._present.items()}


@FUNCTIONS.register_module()
def whole_batch(batch: Any) -> Any:
    """The collate function of a data set whose ``__getitems__`` already returns a batch."""
    return batch
