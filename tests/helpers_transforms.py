"""One sample with a covariance, and what the transforms' tests ask of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import cv2
import numpy as np
from mmpose.datasets.datasets.utils import parse_pose_metainfo

from hetpose.datasets import LSP14
from hetpose.datasets.transforms import attach_factor

META = parse_pose_metainfo(LSP14)
FLIP = META['flip_indices']
WIDTH, HEIGHT = 150, 120
DOT_JOINTS = (0, 6, 13)  # two with a mirror image, one without


def make_sample(seed: int = 0, factor_key: str | None = 'pseudo_factor') -> dict[str, Any]:
    """A sample whose joints lie well inside the image, after GetBBoxCenterScale."""
    rng = np.random.default_rng(seed)
    keypoints = rng.uniform((40, 30), (WIDTH - 40, HEIGHT - 30), (1, 14, 2)).astype(np.float32)
    results = dict(
        img=np.zeros((HEIGHT, WIDTH, 3), np.uint8),
        img_shape=(HEIGHT, WIDTH),
        keypoints=keypoints,
        keypoints_visible=(np.arange(14)[None] != 8).astype(np.float32),
        bbox=np.array([[30, 20, WIDTH - 30, HEIGHT - 20]], np.float32),
        bbox_center=np.array([[WIDTH / 2 + 3, HEIGHT / 2 - 2]], np.float32),
        bbox_scale=np.array([[WIDTH - 30, HEIGHT - 20]], np.float32),
        flip_indices=FLIP,
        upper_body_ids=META['upper_body_ids'],
        lower_body_ids=META['lower_body_ids'],
    )
    if factor_key is not None:
        attach_factor(results, factor_key, rng.normal(0, 1.5, (28, 28)))
    return results


def run(transform: Callable, results: dict[str, Any], seed: int) -> dict[str, Any]:
    """The transform on a copy, with numpy's stream at ``seed``."""
    np.random.seed(seed)  # noqa: NPY002  the stream that mmcv's transforms draw from
    return transform(deepcopy(results))


def chain(*transforms: Callable) -> Callable:
    """The transforms one after the other."""

    def apply(results: dict[str, Any]) -> dict[str, Any]:
        for transform in transforms:
            results = transform(results)
        return results

    return apply


def moved_points(
    transform: Callable, results: dict[str, Any], offsets: np.ndarray, seed: int, space: str
) -> np.ndarray:
    """Keypoints (n, 2K) after the transform of ``keypoints + offset``, for offsets (n, 2K)."""
    bare = {k: v for k, v in results.items() if 'factor' not in k and k != 'covariance_keypoints'}
    rows = []
    for offset in offsets:
        shifted = dict(bare, keypoints=results['keypoints'] + offset.reshape(1, 14, 2))
        rows.append(run(transform, shifted, seed)[f'{space}keypoints'].ravel())
    return np.stack(rows)


def find_dot(transform: Callable, results: dict[str, Any], joint: int, seed: int):
    """Where a dot drawn at ``joint`` is found after the transform, and that joint's new place."""
    drawn = deepcopy(results)
    points = np.round(drawn['keypoints'])  # a dot that OpenCV centres exactly
    drawn['keypoints'] = points
    if 'covariance_keypoints' in drawn:
        drawn['covariance_keypoints'] = points.copy()
    x, y = points[0, joint].astype(int).tolist()
    cv2.circle(drawn['img'], (x, y), 3, (255, 255, 255), -1)
    moved = run(transform, drawn, seed)
    weight = moved['img'][..., 0].astype(np.float64)
    if weight.sum() == 0:
        return None
    yy, xx = np.mgrid[: weight.shape[0], : weight.shape[1]]
    return np.array([(weight * xx).sum(), (weight * yy).sum()]) / weight.sum(), moved
