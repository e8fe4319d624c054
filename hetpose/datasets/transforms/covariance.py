"""The one mechanism by which Σ follows the keypoints: a 2x3 matrix and a joint permutation."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from hetpose.errors import UserError
from hetpose.ops.affine import transform_factor

# Factors F with F Fᵀ = Σ that may travel in a pipeline, each (1, 2K, 2K) beside `keypoints`;
# after the top-down
# crop the same under `transformed_` + key beside `transformed_keypoints`.
COVARIANCE_KEYS = ('pseudo_factor', 'true_factor')
CROP_PREFIX = 'transformed_'
# The keypoints that the factors belong to. A transform that moves keypoints and not Σ leaves
# them behind.
OWNER_KEY = 'covariance_keypoints'


def attach_factor(results: dict[str, Any], key: str, factor: np.ndarray) -> None:
    """Put a factor (2K, 2K) of the covariance of ``results['keypoints']`` into the results."""
    if key not in COVARIANCE_KEYS:
        raise ValueError(f'key must be one of {COVARIANCE_KEYS}, got {key!r}')
    results[key] = np.asarray(factor, dtype=np.float32)[None]
    results[OWNER_KEY] = results['keypoints'].copy()


def carries_covariance(results: dict[str, Any]) -> bool:
    """Whether any factor travels with these results."""
    return any(results.get(key) is not None for key in COVARIANCE_KEYS)


def check_not_moved(results: dict[str, Any], keypoints: np.ndarray | None, by: str) -> None:
    """Raise if the keypoints (1, K, 2) are no longer those that the factors belong to."""
    if keypoints is None or not carries_covariance(results):
        return
    owners = results.get(OWNER_KEY)
    if owners is not None and not np.array_equal(owners, keypoints, equal_nan=True):
        raise UserError(
            f'keypoints were moved before {by} by a transform that left their covariance behind; '
            'use the Covariance... version of every spatial transform'
        )


def move_factor(
    factor: np.ndarray, matrix: np.ndarray, permutation: list[int] | None = None
) -> np.ndarray:
    """(P⊗A) F for a factor F (1, 2K, m), a matrix [A | t] (2, 2 or 3) and a permutation P."""
    moved = transform_factor(
        torch.from_numpy(np.ascontiguousarray(factor, dtype=np.float64)),
        torch.from_numpy(np.ascontiguousarray(matrix, dtype=np.float64)),
        permutation,
    )
    return moved.numpy().astype(np.float32)


def move_factors(
    results: dict[str, Any],
    matrix: np.ndarray,
    permutation: list[int] | None = None,
    source: str = '',
    target: str = '',
) -> None:
    """Move every factor from ``source`` ('' is the image, or CROP_PREFIX) to ``target``."""
    for key in COVARIANCE_KEYS:
        factor = results.get(source + key)
        if factor is not None:
            results[target + key] = move_factor(factor, matrix, permutation)
    if target == '' and results.get('keypoints') is not None and carries_covariance(results):
        results[OWNER_KEY] = results['keypoints'].copy()
