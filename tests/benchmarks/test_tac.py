"""The reference is what TAC means."""

import pytest
import torch

from hetpose.benchmarks import tac


@pytest.mark.parametrize('block', [1, 2])
def test_reference_agrees(block):
    residual, covariance = (t.double() for t in tac.problem(6))
    expected = tac.by_inversion(residual, covariance, block)
    torch.testing.assert_close(tac.tac(residual, covariance, block), expected)
