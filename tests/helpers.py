"""Random inputs that several test files share."""

import torch
from torch import Tensor


def random_covariance(*batch: int, dim: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Random positive definite matrices (*batch, dim, dim), correlated, far from singular."""
    factor = torch.randn(*batch, dim, dim, dtype=dtype)
    return factor @ factor.mT / dim + 0.1 * torch.eye(dim, dtype=dtype)
