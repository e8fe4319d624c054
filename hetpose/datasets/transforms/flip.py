"""A flip that takes the covariance along."""

from __future__ import annotations

from typing import Any

import numpy as np
from mmpose.datasets.transforms import RandomFlip
from mmpose.registry import TRANSFORMS

from hetpose.datasets.transforms.covariance import check_not_moved, move_factors


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
