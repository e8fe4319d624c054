"""From a distribution in heatmap units to what mmpose calls predicted instances.

Axes: B batch, K joints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from mmengine.structures import InstanceData
from torch import Tensor

from hetpose.errors import PredictionError
from hetpose.models.codecs import SoftArgmaxCodec
from hetpose.ops.affine import scale_covariance, transform_covariance, transform_points
from hetpose.ops.disc import disc_probability
from hetpose.ops.distribution import Distribution
from hetpose.ops.spd import NotPositiveDefiniteError, joint_blocks, to_float64
from hetpose.ops.student import covariance_from_scale
from hetpose.ops.validation import NotFiniteError


def fuse_mirrored(
    straight: Distribution,
    mirrored: Distribution,
    permutation: Sequence[int],
    mirror_offset: float,
) -> Distribution:
    """Fuse the predictions of an image and of its mirror image: μ = ½(μ₁ + μ₂), Σ = ½(Σ₁ + Σ₂).

    Of Student-t it is the scale that is averaged, S = ½(S₁ + S₂), and Σ = ν/(ν − 2)·S with the
    fused ν: a view whose ν is near 2 has a Σ that is large without its ellipses being large.
    The second is first mirrored back: x ↦ c − x, left and right joints exchanged,
    Σ ↦ (P⊗diag(−1, 1)) Σ (P⊗diag(−1, 1))ᵀ. ½(Σ₁ + Σ₂) bounds the covariance of the averaged
    residual ½(r₁ + r₂) from above, with equality where r₁ = r₂, as for the noise of the label; the
    shrinkage that averaging brings depends on a correlation that nobody knows.

    Args:
        straight, mirrored: predictions of B poses, d = 2K.
        permutation: mirrored partner of each joint.
        mirror_offset: c.
    """
    mean = straight.mean
    mirror = mean.new_tensor([[-1.0, 0.0, mirror_offset], [0.0, 1.0, 0.0]])
    points = transform_points(mirrored.mean.unflatten(-1, (-1, 2)), mirror, permutation)
    covariance = 0.5 * (straight.scale + transform_covariance(mirrored.scale, mirror, permutation))
    nu = fuse_tails(straight.degrees_of_freedom, mirrored.degrees_of_freedom)
    if nu is not None:
        covariance = covariance_from_scale(covariance, nu)
    return Distribution(0.5 * (mean + points.flatten(-2)), covariance, nu, block=2)


def fuse_heatmaps(
    straight: Tensor, mirrored: Tensor, permutation: Sequence[int], mirror_offset: float
) -> Tensor:
    """Average the heatmaps (B, K, H, W) of an image and of its mirror image.

    Turned round, cell i of the mirrored map lies at i + s, s = mirror_offset − (W − 1); where that
    is not a whole cell, the map is interpolated.
    """
    turned = mirrored.flip(-1)[:, list(permutation)]
    shift = mirror_offset - (straight.shape[-1] - 1)
    if not 0 <= shift < 1:
        raise ValueError(f'mirror_offset: expected W − 1 to W, got {mirror_offset}')
    if shift > 0:
        before = torch.cat([turned[..., :1], turned[..., :-1]], dim=-1)
        turned = torch.lerp(turned, before, shift)
    return 0.5 * (straight + turned)


def fuse_tails(straight: Tensor | None, mirrored: Tensor | None) -> Tensor | None:
    """ν (B,) of the fused Student-t, 2 / (1/ν₁ + 1/ν₂): 1/ν tells how heavy its tails are."""
    if straight is None or mirrored is None:
        return None
    return 2 / (1 / straight + 1 / mirrored)


def to_instances(
    predicted: Distribution,
    samples: list,
    codec: SoftArgmaxCodec,
    score_radius: float,
    keypoint_indices: Sequence[int] | None = None,
) -> list[InstanceData]:
    """One InstanceData per sample from the predictions of B poses in heatmap units.

    The estimator maps keypoints to the image itself and knows nothing of Σ, so keypoints leave in
    input pixels and Σ in image pixels²: Σ_image = (I⊗S) Σ (I⊗S), S = diag(codec scale ·
    input_scale / input_size). The estimator also selects ``output_keypoint_indices`` in every
    field that is named keypoint…; ``covariances`` is selected here. Keypoints and scores are
    float32, covariances float64, exactly symmetric and positive definite.
    """
    if not samples:
        return []
    mean, covariance = predicted.mean.detach(), usable(predicted.covariance.detach())
    meta = [sample.metainfo for sample in samples]
    decode_scale = covariance.new_tensor(codec.decode_scale)
    ratio = [np.asarray(m['input_scale']) / np.asarray(m['input_size']) for m in meta]
    scale = decode_scale * covariance.new_tensor(np.stack(ratio))  # (B, 2)
    if not (scale.isfinite() & (scale > 0)).all():
        raise PredictionError('a sample has an input_scale that is not positive: its box is empty')
    in_image = scale_covariance(covariance, scale.repeat(1, mean.shape[-1] // 2))
    keypoints = (mean.float().unflatten(-1, (-1, 2)) * decode_scale.float()).cpu().numpy()
    instances = [InstanceData(keypoints=points[None]) for points in keypoints]
    add_covariances(
        instances,
        in_image,
        samples,
        score_radius,
        keypoint_indices,
        'keypoint_scores',
        predicted.degrees_of_freedom,
    )
    return instances


def usable(covariance: Tensor) -> Tensor:
    """Σ (B, 2K, 2K) in float64, symmetric and positive definite.

    A PredictionError names the sample of the batch whose Σ is not finite, or not positive definite
    beyond rounding.
    """
    with unusable_named():
        return to_float64(covariance, 'predicted covariance')


@contextmanager
def unusable_named() -> Iterator[None]:
    """Turn what the algebra refuses to compute from a network's outputs into a PredictionError."""
    try:
        yield
    except (NotFiniteError, NotPositiveDefiniteError) as error:
        raise PredictionError(f'{error}; the weights may come from diverged training') from error


def add_covariances(
    instances: list[InstanceData],
    covariance: Tensor,
    samples: list,
    score_radius: float,
    keypoint_indices: Sequence[int] | None = None,
    probability: str = 'keypoint_probabilities',
    degrees_of_freedom: Tensor | None = None,
) -> None:
    """Add Σ (B, 2K, 2K) in image pixels, float64, to instances that have keypoints.

    Fields of each: keypoint_covariances (1, K, 2, 2), covariances (1, 2K, 2K) of the joints of
    ``keypoint_indices``, and by the name ``probability`` that of a joint lying within
    ``score_radius`` of the longer side of its box, (1, K), float32. Where joints are chosen,
    keypoint_indices (1, K) tells which, because the estimator selects in it as in keypoints.
    Student-t predictions also have degrees_of_freedom (1,), float64, from ν (B,).
    """
    for i, instance in enumerate(instances):
        if not np.isfinite(instance.keypoints).all():
            raise PredictionError(f'predicted keypoints: item {i} holds NaN or infinite values')
    covariance = usable(covariance.detach())
    blocks = joint_blocks(covariance)
    radius = score_radius * covariance.new_tensor([_longer_side(sample) for sample in samples])
    nu = None if degrees_of_freedom is None else degrees_of_freedom.detach().to(covariance)
    inside = disc_probability(
        blocks, radius[:, None], degrees_of_freedom=None if nu is None else nu[:, None]
    )
    probabilities = inside.float().cpu().numpy()
    full, parts = selected(covariance, keypoint_indices).cpu().numpy(), blocks.cpu().numpy()
    for i, instance in enumerate(instances):
        instance.keypoint_covariances = parts[i : i + 1]
        instance.set_field(probabilities[i : i + 1], probability)
        instance.covariances = full[i : i + 1]
        if nu is not None:
            instance.degrees_of_freedom = nu[i : i + 1].cpu().numpy()
        if keypoint_indices is not None:
            instance.keypoint_indices = np.arange(parts.shape[1])[None]


def selected(covariance: Tensor, keypoint_indices: Sequence[int] | None) -> Tensor:
    """Σ (B, 2K, 2K) of the given joints only; None keeps them all."""
    if keypoint_indices is None:
        return covariance
    joints = torch.as_tensor(keypoint_indices, device=covariance.device)
    rows = (2 * joints[:, None] + torch.arange(2, device=covariance.device)).flatten()
    return covariance[:, rows[:, None], rows]


def _longer_side(sample) -> float:
    """The longer side of the box in image pixels; of the warped region where there is none."""
    if 'gt_instances' in sample and 'bboxes' in sample.gt_instances:
        x1, y1, x2, y2 = np.asarray(sample.gt_instances.bboxes).reshape(-1, 4)[0]
        if max(x2 - x1, y2 - y1) > 0:
            return float(max(x2 - x1, y2 - y1))
    return float(np.max(sample.metainfo['input_scale']))
