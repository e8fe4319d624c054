"""Predictions of any model as plain arrays, brought to one shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hetpose.ops.distribution import Distribution
from hetpose.ops.spd import to_float64
from hetpose.ops.student import check_degrees_of_freedom


def _tensor(value: Any, name: str) -> Tensor:
    try:
        if isinstance(value, Tensor):
            return value.detach().cpu()
        return torch.as_tensor(np.asarray(value))  # a list of floats is float64, as in numpy
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f'{name} is not a numeric array: {error}') from error


def _covariance(cov: Tensor, mean: Tensor) -> Tensor:
    """Covariances (N, d, d) from full ones, from blocks (N, K, b, b), or from variances (N, d)."""
    size, dim = len(mean), mean[0].numel()
    if cov.shape == (size, dim, dim) and cov.shape != mean.shape:
        return cov
    if cov.shape == mean.shape:
        return torch.diag_embed(cov.flatten(1) if cov.ndim > 1 else cov[:, None])
    if mean.ndim == 3 and cov.shape == (*mean.shape, mean.shape[-1]):
        joints, block = mean.shape[1:]
        full = cov.new_zeros(size, joints, block, joints, block)
        index = torch.arange(joints)
        full[:, index, :, index, :] = cov.movedim(1, 0)
        return full.reshape(size, dim, dim)
    raise ValueError(
        f'cov has shape {tuple(cov.shape)}; for a mean of {tuple(mean.shape)} it must be '
        f'({size}, {dim}, {dim}), {tuple(mean.shape)} (variances)'
        + (f' or {(*mean.shape, mean.shape[-1])} (per joint)' if mean.ndim == 3 else '')
    )


def _mask(mask: Any, mean: Tensor, block: int | None = None) -> Tensor:
    """Booleans (N, d) from None, a mask per dimension or a mask per joint (N, K)."""
    size, dim = len(mean), mean[0].numel()
    if mask is None:
        return torch.ones(size, dim, dtype=torch.bool)
    mask = _tensor(mask, 'mask') > 0
    if mask.shape == mean.shape:
        return mask.reshape(size, dim)
    if mean.ndim == 3 and mask.shape == mean.shape[:2]:
        return mask.repeat_interleave(mean.shape[2], dim=-1)
    if mask.shape == (size, dim):
        return mask
    if block and mask.shape == (size, dim // block):
        return mask.repeat_interleave(block, dim=-1)
    raise ValueError(
        f'mask has shape {tuple(mask.shape)}, which does not fit a mean of {tuple(mean.shape)}'
    )


def distribution_of(
    mean: Any,
    cov: Any,
    target: Any,
    mask: Any = None,
    block: int | None = None,
    degrees_of_freedom: Any = None,
) -> Distribution:
    """The predictions in arrays (numpy, torch or lists), checked, in float64.

    Shapes: mean and target (N, d), (N, K, b) or (N,); cov (N, d, d), (N, K, b, b) or variances
    like the mean; mask like the mean or (N, K), true where present. block is b: that of a mean
    (N, K, b), else 1 unless given. degrees_of_freedom is one number or (N,), above 2.
    """
    mean, target = _tensor(mean, 'mean').double(), _tensor(target, 'target').double()
    cov = _tensor(cov, 'cov')
    cov = cov if cov.is_floating_point() else cov.double()
    if mean.ndim not in (1, 2, 3) or not mean.numel():
        raise ValueError(
            f'mean has shape {tuple(mean.shape)}; expected (N, d) or (N, K, 2), not empty'
        )
    if target.shape != mean.shape:
        raise ValueError(f'target has shape {tuple(target.shape)}, mean {tuple(mean.shape)}')
    covariance, here = _covariance(cov, mean), _mask(mask, mean, block)
    block = (mean.shape[2] if mean.ndim == 3 else 1) if block is None else block
    if block < 1 or here.shape[1] % block:
        raise ValueError(f'block {block} does not divide the {here.shape[1]} dimensions')
    mean, target = mean.reshape(here.shape), target.reshape(here.shape)
    residual = torch.where(here, target - mean, 0.0)
    both = here[..., None] & here[..., None, :]
    # What is missing may hold anything, NaN too: it becomes the identity.
    identity = torch.eye(here.shape[1], dtype=covariance.dtype)
    covariance = torch.where(both, covariance, identity)
    for name, value in (('mean and target', residual), ('cov', covariance)):
        bad = int((~value.isfinite()).flatten(1).any(1).sum())
        if bad:
            raise ValueError(
                f'{name}: {bad} of {len(value)} samples are not finite; mask what is missing'
            )
    nu = _degrees_of_freedom(degrees_of_freedom, len(residual))
    return Distribution(mean, to_float64(covariance, 'cov'), nu, target, here, block=block)


def _degrees_of_freedom(value: Any, size: int) -> Tensor | None:
    """(N,) from None, one number or (N,); the covariance exists above 2."""
    if value is None:
        return None
    nu = _tensor(value, 'degrees_of_freedom').double()
    if nu.shape not in ((), (size,)):
        raise ValueError(f'degrees_of_freedom has shape {tuple(nu.shape)}, expected ({size},)')
    check_degrees_of_freedom(nu, lowest=2)
    return nu.expand(size)
