"""A top-down crop that takes the covariance along and keeps its matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from mmpose.datasets.transforms import TopdownAffine
from mmpose.registry import TRANSFORMS
from mmpose.structures.bbox import get_udp_warp_matrix, get_warp_matrix

from hetpose.datasets.transforms.covariance import CROP_PREFIX, check_not_moved, move_factors


@TRANSFORMS.register_module()
class CovarianceTopdownAffine(TopdownAffine):
    """mmpose's TopdownAffine, with the factors in network-input pixels beside the keypoints.

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
