"""SyntheticPose: rendered figures whose label noise has a known, image-dependent covariance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mmpose.datasets.datasets.base import BaseCocoStyleDataset
from mmpose.registry import DATASETS

from hetpose.datasets.pose.figure import K, Scene, render, sample_scene
from hetpose.datasets.pose.label_noise import covariance_factor, noise_causes
from hetpose.datasets.pose.lsp14 import dataset_info
from hetpose.datasets.transforms.covariance import attach_factor
from hetpose.datasets.transforms.guard import check_pipeline

_SCENE, _PIXELS, _NOISE = range(3)  # independent random streams of one sample
_BOX_MARGIN = 0.06  # around the joints, as a share of the figure's height


@DATASETS.register_module()
class SyntheticPose(BaseCocoStyleDataset):
    """Articulated figures on varied backgrounds, LSP's 14 joints, made from (seed, index).

    The label of a joint is its true place plus Gaussian noise, drawn once per sample. Its
    covariance Σ(image) is raised and elongated by what the image shows (``label_noise``) and
    travels as ``true_factor`` (1, 2K, 2K), F Fᵀ = Σ in pixels.

    Args:
        length (int): Number of samples.
        seed (int): Two sets with different seeds share no image.
        image_size (int): Rows and columns of an image, 32 to 1000.
        noise (float): Multiplies the standard deviation of the label noise; above 0, or Σ would be
            singular.
        supply_truth (bool): Whether ``true_factor`` travels with a sample.
        pipeline, test_mode, indices, metainfo, lazy_init: as in mmpose.
    """

    METAINFO: dict = {**dataset_info, 'dataset_name': 'synthetic_pose'}
    supplies_covariance = True

    def __init__(
        self,
        length: int = 4000,
        seed: int = 0,
        image_size: int = 128,
        noise: float = 1.0,
        supply_truth: bool = True,
        pipeline: Sequence[dict | Callable] = (),
        test_mode: bool = False,
        indices: int | Sequence[int] | None = None,
        metainfo: dict | None = None,
        lazy_init: bool = False,
        max_refetch: int = 1000,
    ) -> None:
        if length < 1 or not 32 <= image_size <= 1000 or noise <= 0:
            raise ValueError(
                'SyntheticPose needs length >= 1, image_size in 32..1000 and noise > 0; '
                f'got {length}, {image_size}, {noise}'
            )
        self.length, self.seed, self.image_size, self.noise = length, seed, image_size, noise
        self.supplies_covariance = supply_truth
        super().__init__(
            metainfo=metainfo,
            pipeline=list(pipeline),
            test_mode=test_mode,
            indices=indices,
            lazy_init=lazy_init,
            max_refetch=max_refetch,
        )
        if supply_truth:
            check_pipeline(self.pipeline.transforms, 'SyntheticPose')

    def load_data_list(self) -> list[dict]:
        """One record per sample; everything else is made when it is asked for."""
        return [dict(id=index, img_id=index) for index in range(self.length)]

    def _rng(self, index: int, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, index, stream])

    def scene(self, index: int) -> Scene:
        """The scene of sample ``index``."""
        return sample_scene(self._rng(index, _SCENE), self.image_size)

    def image(self, index: int) -> np.ndarray:
        """Image (size, size, 3) uint8, BGR."""
        return render(self.scene(index), self._rng(index, _PIXELS))

    def clean_keypoints(self, index: int) -> np.ndarray:
        """The true joints (K, 2) in pixels, which no pipeline sees."""
        return self.scene(index).joints

    def covariance(self, index: int) -> np.ndarray:
        """The covariance (2K, 2K) of the label of sample ``index``, in pixels²."""
        causes = noise_causes(self.scene(index), self.noise)
        return causes @ causes.T

    def get_data_info(self, idx: int) -> dict[str, Any]:
        """The sample, with its image, noisy keypoints (1, K, 2) and true factor (1, 2K, 2K)."""
        info = super().get_data_info(idx)
        index = info['id']
        scene = self.scene(index)
        causes = noise_causes(scene, self.noise)
        error = causes @ self._rng(index, _NOISE).standard_normal(causes.shape[1])
        margin = _BOX_MARGIN * scene.height
        low, high = scene.joints.min(0) - margin, scene.joints.max(0) + margin
        # The box comes from the truth: a detector would see the figure, not the annotator's error.
        box = np.clip([*low, *high], 0, self.image_size - 1).astype(np.float32)[None]
        info.update(
            img=render(scene, self._rng(index, _PIXELS)),
            img_path=f'SyntheticPose/{self.seed}/{index}',
            bbox=box,
            bbox_score=np.ones(1, np.float32),
            keypoints=(scene.joints + error.reshape(K, 2)).astype(np.float32)[None],
            keypoints_visible=np.ones((1, K), np.float32),
            area=np.array([np.prod(box[0, 2:] - box[0, :2])], np.float32),
            category_id=1,
        )
        if self.supplies_covariance:
            attach_factor(info, 'true_factor', covariance_factor(causes))
        return info
