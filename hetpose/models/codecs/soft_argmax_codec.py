"""Keypoints and their covariances in heatmap units."""

from __future__ import annotations

import numpy as np
from mmpose.codecs.base import BaseKeypointCodec
from mmpose.datasets.transforms.formatting import PackPoseInputs
from mmpose.registry import KEYPOINT_CODECS


@KEYPOINT_CODECS.register_module()
class SoftArgmaxCodec(BaseKeypointCodec):
    """Heatmaps, coordinates and covariance factors in heatmap units.

    A point p of the network input lies at p / s in the heatmap, s = (input_size − 1) /
    (heatmap_size − 1): the convention of ``TopdownAffine(use_udp=True)``, under which a mirrored
    image has exactly the mirrored coordinates W − 1 − x. With ``use_udp=False`` s = input_size /
    heatmap_size, for pipelines that warp without it. A factor F (FFᵀ = Σ) follows as (I⊗diag(1/s))
    F.

    Encoded, for one instance of K joints:
        heatmaps (K, H, W), keypoint_labels (1, K, 2), keypoint_weights (1, K), and where the
        pipeline carries a factor: pseudo_root (1, 2K, 2K), the symmetric root of Σ̃, and
        true_factor_label (1, 2K, 2K), a factor of the true Σ.

    A joint that is not annotated or lies outside the heatmap has weight 0, label 0 and zero rows
    in the true factor; objectives leave out its rows of the root. A soft-argmax cannot leave the
    map; a joint out there would teach the covariance of the border only.

    Args:
        input_size: network input (w, h).
        heatmap_size: heatmap (W, H).
        sigma: standard deviation of the target Gaussians, in heatmap pixels.
        use_udp: see above.
        stride: pixels between two cells, in place of s. A convolutional network whose maps are
            input_size / heatmap_size cells apart cannot know how far a cell lies from the middle;
            with the stride that it has, its cells are off by a constant, which it learns.
    """

    auxiliary_encode_keys = {'transformed_pseudo_factor', 'transformed_true_factor'}

    # A codec's tables replace those of PackPoseInputs.
    field_mapping_table = dict(heatmaps='heatmaps')
    instance_mapping_table = dict(PackPoseInputs.instance_mapping_table, true_factor='true_factor')
    label_mapping_table = dict(
        keypoint_labels='keypoint_labels',
        keypoint_weights='keypoint_weights',
        pseudo_root='pseudo_root',
        true_factor_label='true_factor',
    )

    def __init__(
        self,
        input_size: tuple[int, int] = (256, 256),
        heatmap_size: tuple[int, int] = (64, 64),
        sigma: float = 2.0,
        use_udp: bool = True,
        stride: float | None = None,
    ) -> None:
        if sigma <= 0:
            raise ValueError(f'sigma must be positive, got {sigma}')
        if stride is not None and stride <= 0:
            raise ValueError(f'stride must be positive, got {stride}')
        self.input_size = (int(input_size[0]), int(input_size[1]))
        self.heatmap_size = (int(heatmap_size[0]), int(heatmap_size[1]))
        self.sigma = float(sigma)
        self.use_udp = use_udp
        edge = 1 if use_udp else 0
        self.scale_factor = (np.asarray(self.input_size) - edge) / (
            np.asarray(self.heatmap_size) - edge
        )
        if stride is not None:
            self.scale_factor = np.full(2, stride)
        self.scale_factor = self.scale_factor.astype(np.float32)

    @property
    def decode_scale(self) -> np.ndarray:
        """Heatmap units → what the estimator expects as input pixels (2,).

        mmpose maps predictions to the image with input_scale / input_size, while the UDP warp
        spans input_size − 1 pixels: the factor input_size / (input_size − 1) makes the round trip
        exact, as in mmpose's own UDP codec.
        """
        if not self.use_udp:
            return self.scale_factor
        size = np.asarray(self.input_size)
        return (self.scale_factor * (size / (size - 1))).astype(np.float32)

    @property
    def mirror_offset(self) -> float:
        """The number c with x ↦ c − x in heatmap units when the input is mirrored."""
        return float((self.input_size[0] - 1) / self.scale_factor[0])

    def encode(
        self,
        keypoints: np.ndarray,
        keypoints_visible: np.ndarray | None = None,
        transformed_pseudo_factor: np.ndarray | None = None,
        transformed_true_factor: np.ndarray | None = None,
    ) -> dict:
        """Keypoints (1, K, 2) and factors (1, 2K, 2K) in input pixels → the items listed above."""
        if keypoints.ndim != 3:
            return {}  # inference: TopdownAffine leaves an empty array where nothing is annotated
        if keypoints.shape[0] != 1:
            raise ValueError(f'SoftArgmaxCodec encodes one instance, got {keypoints.shape[0]}')
        if keypoints_visible is None:
            keypoints_visible = np.ones(keypoints.shape[:2], dtype=np.float32)
        present = keypoints_visible.reshape(keypoints.shape[:2]) >= 0.5
        points = np.where(present[..., None], keypoints[..., :2], -np.inf) / self.scale_factor
        limit = np.asarray(self.heatmap_size) - 0.5
        present = present & ((points >= -0.5) & (points < limit)).all(-1)
        points = np.where(present[..., None], points, 0.0).astype(np.float32)
        encoded = dict(
            heatmaps=self._heatmaps(points[0]) * present[0, :, None, None].astype(np.float32),
            keypoint_labels=points,
            keypoint_weights=present.astype(np.float32),
        )
        if transformed_pseudo_factor is not None:
            # Rows of the root of all joints are a factor of those present; the root of the rows
            # present would be another matrix, which no rows of a predicted root can equal.
            encoded['pseudo_root'] = symmetric_root_of(
                self._factor(transformed_pseudo_factor, np.ones_like(present))
            )
        if transformed_true_factor is not None:
            encoded['true_factor_label'] = self._factor(transformed_true_factor, present)
        return encoded

    def decode(self, encoded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (K, 2) in heatmap units → keypoints (1, K, 2) in input pixels, scores 1."""
        keypoints = (np.asarray(encoded) * self.decode_scale)[None]
        return keypoints, np.ones(keypoints.shape[:2], dtype=np.float32)

    def _heatmaps(self, points: np.ndarray) -> np.ndarray:
        """exp(−|p − c|² / 2σ²) around points (K, 2) → (K, H, W), not rounded to pixels."""
        width, height = self.heatmap_size
        x = np.exp(-((np.arange(width) - points[:, :1]) ** 2) / (2 * self.sigma**2))
        y = np.exp(-((np.arange(height) - points[:, 1:]) ** 2) / (2 * self.sigma**2))
        return (y[:, :, None] * x[:, None, :]).astype(np.float32)

    def _factor(self, factor: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Factor (1, 2K, m) in heatmap units, with rows of 0 where it is missing or unknown."""
        joints = present.shape[-1]
        if factor.ndim != 3 or factor.shape[-2] != 2 * joints:
            raise ValueError(
                f'a factor for {joints} joints has shape (1, {2 * joints}, m), got {factor.shape}'
            )
        rows = np.repeat(present[0], 2)[None, :, None] & np.isfinite(factor).all(-1, keepdims=True)
        scaled = factor / np.tile(self.scale_factor, joints)[None, :, None]
        return np.where(rows, scaled, 0.0).astype(np.float32)


def symmetric_root_of(factor: np.ndarray) -> np.ndarray:
    """(FFᵀ)^½ = U S Uᵀ by the singular values of F (..., d, m) → (..., d, d)."""
    u, s, _ = np.linalg.svd(factor.astype(np.float64), full_matrices=False)
    return ((u * s[..., None, :]) @ np.swapaxes(u, -1, -2)).astype(np.float32)
