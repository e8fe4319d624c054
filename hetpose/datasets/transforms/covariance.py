"""The one mechanism by which Σ follows the keypoints: a 2x3 matrix and a joint permutation.

The flip and the top-down crop of mmpose use it here; random affine maps have their own
module.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from mmpose.datasets.transforms import RandomFlip, TopdownAffine
from mmpose.registry import TRANSFORMS
from mmpose.structures.bbox import get_udp_warp_matrix, get_warp_matrix

from hetpose.errors import UserError
from hetpose.ops.affine import transform_factor

# Factors F with F Fᵀ = Σ that may travel in a pipeline, each (1, 2K, 2K), with `keypoints`. After
# the top-down crop they are stored as `transformed_` + key, with `transformed_keypoints`.
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


def flip_matrix(direction: str, width: int, height: int) -> np.ndarray:
    """The 2x3 matrix of a flip of pixel coordinates: x → w − 1 − x, y → h − 1 − y, or both."""
    flip_x, flip_y = direction in ('horizontal', 'diagonal'), direction in ('vertical', 'diagonal')
    return np.array(
        [
            [-1.0 if flip_x else 1.0, 0.0, width - 1.0 if flip_x else 0.0],
            [0.0, -1.0 if flip_y else 1.0, height - 1.0 if flip_y else 0.0],
        ]
    )


@TRANSFORMS.register_module()
class CovarianceRandomFlip(RandomFlip):
    """mmpose's RandomFlip, with Σ → (P⊗A) Σ (P⊗A)ᵀ. It belongs before the top-down crop.

    Required, Modified and Added Keys: those of RandomFlip.

    Modified Keys:

        - pseudo_factor (optional)
        - true_factor (optional)
    """

    covariance_safe = True
    covariance_stage = 'image'

    def transform(self, results: dict[str, Any]) -> dict[str, Any]:
        """Flip image, box, keypoints and factors."""
        check_not_moved(results, results.get('keypoints'), type(self).__name__)
        results = super().transform(results)
        if results['flip']:
            height, width = results['img_shape']
            direction = results['flip_direction']
            # mmpose swaps left and right in a mirror image; a half turn ('diagonal') is none.
            permutation = None if direction == 'diagonal' else list(results['flip_indices'])
            move_factors(results, flip_matrix(direction, width, height), permutation)
        return results


@TRANSFORMS.register_module()
class CovarianceTopdownAffine(TopdownAffine):
    """mmpose's TopdownAffine, with the factors moved to network-input pixels with the keypoints.

    RandomBBoxTransform needs no version of its own: it moves the box only, and the box reaches the
    keypoints here.

    Required, Modified and Added Keys: those of TopdownAffine.

    Added Keys:

        - warp_matrix: (2, 3), image pixels → network-input pixels
        - transformed_pseudo_factor, transformed_true_factor (where the image-space one is there)
    """

    covariance_safe = True
    covariance_stage = 'crop'

    def transform(self, results: dict[str, Any]) -> dict[str, Any]:
        """Crop the image, move the keypoints, move the factors."""
        check_not_moved(results, results.get('keypoints'), type(self).__name__)
        results = super().transform(results)
        # mmpose discards the matrix; its own function of the values just stored gives it again.
        build = get_udp_warp_matrix if self.use_udp else get_warp_matrix
        rotation = results['bbox_rotation'][0] if 'bbox_rotation' in results else 0.0
        matrix = build(
            results['input_center'], results['input_scale'], rotation, output_size=self.input_size
        )
        results['warp_matrix'] = np.asarray(matrix, dtype=np.float64)
        move_factors(results, results['warp_matrix'], target=CROP_PREFIX)
        return results
