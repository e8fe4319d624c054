"""Ellipses of 2×2 covariances: the region that holds a joint with a stated probability.

Also the covariances in mmpose's instances, N people of K joints, and the instances on an enlarged
image.
"""

from __future__ import annotations

import numpy as np
import torch
from mmengine.structures import InstanceData
from mmpose.structures import PoseDataSample

from hetpose.ops.spd import joint_blocks
from hetpose.ops.student import check_degrees_of_freedom


def coverage_radius(coverage: float, degrees_of_freedom: float | None = None) -> float:
    """Mahalanobis radius of the disc that holds a 2-D Gaussian with probability ``coverage``.

    χ²₂ has the distribution function 1 − exp(−q/2), so r = √(−2 log(1 − coverage)), exactly. Of a
    Student-t with ν degrees of freedom and covariance Σ, r² = (ν − 2)((1 − coverage)^(−2/ν) − 1).
    """
    if not 0 < coverage < 1:
        raise ValueError(f'coverage must lie between 0 and 1, got {coverage}')
    if degrees_of_freedom is None or np.isinf(degrees_of_freedom):
        return float(np.sqrt(-2 * np.log1p(-coverage)))
    check_degrees_of_freedom(torch.as_tensor(degrees_of_freedom), lowest=2)
    grown = np.expm1(-2 / degrees_of_freedom * np.log1p(-coverage))
    return float(np.sqrt((degrees_of_freedom - 2) * grown))


def ellipse_axes(
    covariance: np.ndarray, coverage: float, degrees_of_freedom: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Semi-axes, longest first, and the angle of the first, of the ellipse of a stated coverage.

    The angle is in radians from the x axis towards the y axis: clockwise on an image,
    whose y axis points down.

    Shapes: covariance (..., 2, 2) → axes (..., 2), angle (...).
    """
    covariance = np.asarray(covariance, dtype=np.float64)
    if covariance.shape[-2:] != (2, 2):
        raise ValueError(f'covariance must have shape (..., 2, 2), got {covariance.shape}')
    xx, yy = covariance[..., 0, 0], covariance[..., 1, 1]
    xy = (covariance[..., 0, 1] + covariance[..., 1, 0]) / 2
    middle, half_gap = (xx + yy) / 2, np.hypot((xx - yy) / 2, xy)
    # Rounding may take the smaller eigenvalue of a near-singular matrix just below zero.
    variances = np.stack([middle + half_gap, middle - half_gap], axis=-1).clip(min=0)
    radius = coverage_radius(coverage, degrees_of_freedom)
    return radius * np.sqrt(variances), np.arctan2(2 * xy, xx - yy) / 2


def ellipse_points(
    center: np.ndarray,
    covariance: np.ndarray,
    coverage: float,
    count: int = 72,
    degrees_of_freedom: float | None = None,
) -> np.ndarray:
    """Points of the ellipse {p : (p − center)ᵀ Σ⁻¹ (p − center) = r²}, in order.

    Shapes: center (..., 2), covariance (..., 2, 2) → (..., count, 2).
    """
    axes, angle = ellipse_axes(covariance, coverage, degrees_of_freedom)
    turn = np.linspace(0, 2 * np.pi, count, endpoint=False)
    along, across = axes[..., :1] * np.cos(turn), axes[..., 1:] * np.sin(turn)
    cos, sin = np.cos(angle)[..., None], np.sin(angle)[..., None]
    points = np.stack([along * cos - across * sin, along * sin + across * cos], axis=-1)
    return np.asarray(center, dtype=np.float64)[..., None, :] + points


def joint_correlation(covariance: np.ndarray) -> np.ndarray:
    """Correlation of the joints' displacements, E[δᵢ·δⱼ] / √(E|δᵢ|² E|δⱼ|²), in [−1, 1].

    One signed number for each pair, the same for every rotation of the image: 1 where two joints
    err together, −1 where they err in opposite directions. A joint without variance has
    correlation 0 with the others.

    Shapes: (..., 2K, 2K) → (..., K, K).
    """
    covariance = np.asarray(covariance, dtype=np.float64)
    joints = covariance.shape[-1] // 2
    grid = covariance.reshape(*covariance.shape[:-2], joints, 2, joints, 2)
    products = grid[..., 0, :, 0] + grid[..., 1, :, 1]
    scale = np.sqrt(np.diagonal(products, axis1=-2, axis2=-1).clip(min=0))
    outer = scale[..., :, None] * scale[..., None, :]
    correlation = np.divide(products, outer, out=np.zeros_like(products), where=outer > 0)
    correlation[..., np.arange(joints), np.arange(joints)] = 1
    return correlation


def enlarged(sample: PoseDataSample, factor: int) -> PoseDataSample:
    """The sample on an image enlarged by a factor f: the middle of pixel i moves to f·i + (f−1)/2.

    The given sample stays as it is.
    """
    found = PoseDataSample(metainfo=sample.metainfo)
    shift = (factor - 1) / 2
    powers = {'keypoint_covariances': 2, 'covariances': 2, 'true_factor': 1}
    for kind in ('gt_instances', 'pred_instances'):
        if kind not in sample:
            continue
        instances = InstanceData()
        for name, value in sample.get(kind).items():
            if name in ('keypoints', 'transformed_keypoints', 'bboxes'):
                value = np.asarray(value) * factor + shift
            elif name in powers:
                value = np.asarray(value) * factor ** powers[name]
            instances.set_field(value, name)
        found.set_field(instances, kind)
    for kind in ('gt_fields', 'pred_fields'):
        if kind in sample:
            found.set_field(sample.get(kind), kind)
    return found


def joint_indices(instances: InstanceData, count: int) -> list[int]:
    """The number of each drawn joint in the data set, K of them: a model may predict some only."""
    if 'keypoint_indices' in instances and len(instances.keypoint_indices):
        return [int(k) for k in np.asarray(instances.keypoint_indices)[0]]
    return list(range(count))


def joint_covariances(instances: InstanceData) -> np.ndarray | None:
    """The 2×2 covariance of every joint, (N, K, 2, 2), from whichever field carries it."""
    if 'keypoint_covariances' in instances:
        return np.asarray(instances.keypoint_covariances)
    if 'covariances' in instances:
        return joint_blocks(np.asarray(instances.covariances))
    if 'true_factor' in instances and 'transformed_keypoints' not in instances:
        factor = np.asarray(instances.true_factor, dtype=np.float64)
        return joint_blocks(factor @ factor.swapaxes(-1, -2))
    return None
