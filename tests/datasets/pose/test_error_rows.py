"""Rows of cached errors in batches."""

import pytest
import torch

from hetpose.datasets.pose.error_rows import ErrorRows


def test_a_batch_is_the_stack_of_its_rows():
    rows = ErrorRows(torch.randn(5, 3), torch.randn(5, 4), torch.ones(5, 4, dtype=torch.bool))
    batch = rows.__getitems__([4, 1])
    for name, value in batch.items():
        assert torch.equal(value, torch.stack([rows[4][name], rows[1][name]]))
    assert len(rows) == 5


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match='different numbers of rows'):
        ErrorRows(torch.randn(5, 3), torch.randn(4, 4), torch.ones(4, 4))
