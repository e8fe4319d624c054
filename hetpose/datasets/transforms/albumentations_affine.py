"""Shift, scale, rotation and flip by albumentations: the only file that knows this library.

albumentations 2.0.8 is the last MIT release. It moves the image and three probe points; the matrix
that moves keypoints and Σ is read off the probes, so it is the one that the library used.
"""

from __future__ import annotations

from typing import Any

import albumentations
import cv2
import numpy as np
from mmcv.transforms import BaseTransform
from mmpose.registry import TRANSFORMS

from hetpose.datasets.transforms.covariance import (
    CROP_PREFIX,
    OWNER_KEY,
    check_not_moved,
    move_factors,
)


def affine_from_probes(moved: np.ndarray, width: int, height: int) -> np.ndarray:
    """The 2x3 matrix that takes (0, 0), (w, 0), (0, h) to the three rows of ``moved`` (3, 2)."""
    origin, right, down = moved.astype(np.float64)
    return np.column_stack([(right - origin) / width, (down - origin) / height, origin])


def compose_affine(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """outer ∘ inner of two 2x3 matrices."""
    return np.column_stack([outer[:, :2] @ inner[:, :2], outer[:, :2] @ inner[:, 2] + outer[:, 2]])


def invert_affine(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a 2x3 matrix."""
    return cv2.invertAffineTransform(np.asarray(matrix, dtype=np.float64))


# The second name is the former one, which left out the flip: older configs load by it.
@TRANSFORMS.register_module(name=['CovarianceRandomAffine', 'CovarianceShiftScaleRotate'])
class CovarianceRandomAffine(BaseTransform):
    """Shift, scale, rotate and mirror the network input with its keypoints and Σ, after the crop.

    Required Keys:

        - img, transformed_keypoints, keypoints, keypoints_visible, warp_matrix, flip_indices

    Modified Keys:

        - img, transformed_keypoints, keypoints_visible and the transformed factors
        - keypoints and the image-space factors: brought back through the crop, so that what a
          model predicts on this input and maps to the image still compares with them

    Args:
        shift (float): Largest shift, as a share of the input size, in x and in y.
        scale (float): The scale is uniform in [1 − scale, 1 + scale].
        rotate (float): Largest rotation, in degrees.
        flip_prob (float): Probability of a horizontal flip.
        prob (float): Probability of shift, scale and rotation.
    """

    covariance_safe = True
    covariance_stage = 'input'

    def __init__(
        self,
        shift: float = 0.2,
        scale: float = 0.25,
        rotate: float = 45.0,
        flip_prob: float = 0.5,
        prob: float = 1.0,
    ) -> None:
        if not 0 <= scale < 1:
            raise ValueError(f'scale must be in [0, 1), got {scale}')
        self.settings = dict(
            shift=shift, scale=scale, rotate=rotate, flip_prob=flip_prob, prob=prob
        )
        self.compose = albumentations.Compose(
            [
                albumentations.Affine(
                    translate_percent={'x': (-shift, shift), 'y': (-shift, shift)},
                    scale=(1 - scale, 1 + scale),
                    keep_ratio=True,
                    rotate=(-rotate, rotate),
                    p=prob,
                ),
                albumentations.HorizontalFlip(p=flip_prob),
            ],
            keypoint_params=albumentations.KeypointParams(format='xy', remove_invisible=False),
        )

    def _seed(self) -> None:
        """Draw albumentations' seeds from numpy's stream, which mmengine seeds in every worker."""
        for transform in self.compose.transforms:
            transform.set_random_seed(int(np.random.randint(2**31)))  # noqa: NPY002

    def transform(self, results: dict[str, Any]) -> dict[str, Any]:
        """Move the image, then keypoints and factors by the matrix that albumentations used."""
        if 'warp_matrix' not in results:
            raise ValueError('CovarianceRandomAffine belongs after CovarianceTopdownAffine')
        check_not_moved(results, results.get('keypoints'), type(self).__name__)
        self._seed()
        height, width = results['img'].shape[:2]
        probes = np.array([[0, 0], [width, 0], [0, height]], dtype=np.float32)
        moved = self.compose(image=results['img'], keypoints=probes)
        results['img'] = moved['image']
        matrix = affine_from_probes(moved['keypoints'][:, :2], width, height)
        # A mirror image turns left joints into right ones; the determinant tells.
        mirrored = np.linalg.det(matrix[:, :2]) < 0
        permutation = list(results['flip_indices']) if mirrored else None
        self._move(results, matrix, permutation)
        return results

    @staticmethod
    def _move(results: dict[str, Any], matrix: np.ndarray, permutation: list[int] | None) -> None:
        """Move keypoints and factors by a matrix in input pixels, its conjugate in image ones."""
        warp = results['warp_matrix']
        in_image = compose_affine(invert_affine(warp), compose_affine(matrix, warp))
        for prefix, transform in ((CROP_PREFIX, matrix), ('', in_image)):
            keypoints = results[f'{prefix}keypoints']
            if permutation is not None:
                keypoints = keypoints[:, permutation]
            points = keypoints[..., :2] @ transform[:, :2].T + transform[:, 2]
            results[f'{prefix}keypoints'] = points.astype(keypoints.dtype)
            move_factors(results, transform, permutation, prefix, prefix)
        if permutation is not None:
            results['keypoints_visible'] = results['keypoints_visible'][:, permutation]
        if OWNER_KEY in results:
            results[OWNER_KEY] = results['keypoints'].copy()

    def __repr__(self) -> str:
        """Name and settings."""
        settings = ', '.join(f'{name}={value}' for name, value in self.settings.items())
        return f'{type(self).__name__}({settings})'
