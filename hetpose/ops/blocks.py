"""The marginals of consecutive dimensions, as of the joints of a pose."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from torch import Tensor

Array = TypeVar('Array', np.ndarray, Tensor)


def joint_blocks(covariance: Array, block: int = 2) -> Array:
    """The marginal covariance of every joint, of ``block`` dimensions; numpy or torch.

    Shapes: (..., K·b, K·b) -> (..., K, b, b).
    """
    dim = covariance.shape[-1]
    if block < 1 or dim % block:
        raise ValueError(f'block {block} does not divide the {dim} dimensions')
    rows = np.arange(dim).reshape(-1, block)
    return covariance[..., rows[:, :, None], rows[:, None, :]]
