"""Batches that were sliced, not collated."""

from __future__ import annotations

from typing import Any

from mmengine.registry import FUNCTIONS


@FUNCTIONS.register_module()
def whole_batch(batch: Any) -> Any:
    """The collate function of a data set whose ``__getitems__`` already returns a batch."""
    return batch
