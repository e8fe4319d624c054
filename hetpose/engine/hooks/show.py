"""Pictures of evaluated samples, also of those that are no file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mmcv.image import imread
from mmengine.hooks import Hook
from mmengine.visualization import Visualizer
from mmpose.registry import HOOKS
from mmpose.structures import PoseDataSample, merge_data_samples

from hetpose.errors import UserError


@HOOKS.register_module()
class ShowPoseHook(Hook):
    """Draw every ``interval``-th sample of a validation or a test into a folder.

    mmpose's PoseVisualizationHook draws every sample of a test whatever its interval is, and reads
    each image from its file, which rendered samples do not have.

    Args:
        enable: Whether to draw at all.
        out_dir: The folder; None hands the pictures to the visualizer's backends.
        interval: Draw the samples 0, interval, 2 · interval, ...
        kpt_thr: Joints of a lower score are left out.
    """

    def __init__(
        self,
        enable: bool = False,
        out_dir: str | None = None,
        interval: int = 1,
        kpt_thr: float = 0.3,
    ) -> None:
        if interval < 1:
            raise ValueError(f'interval must be at least 1, got {interval}')
        self.enable, self.interval, self.kpt_thr = enable, interval, kpt_thr
        self.out_dir = None if out_dir is None else Path(out_dir)
        self.seen = 0

    def before_val_epoch(self, runner: Any) -> None:
        """Start to count from 0."""
        self.seen = 0

    def before_test_epoch(self, runner: Any) -> None:
        """Start to count from 0."""
        self.seen = 0

    def after_val_iter(
        self, runner: Any, batch_idx: int, data_batch: Any = None, outputs: Any = None
    ) -> None:
        """Draw those samples of a batch whose turn it is."""
        self._draw(runner.val_dataloader.dataset, outputs, f'epoch_{runner.epoch}_')

    def after_test_iter(
        self, runner: Any, batch_idx: int, data_batch: Any = None, outputs: Any = None
    ) -> None:
        """Draw those samples of a batch whose turn it is."""
        self._draw(runner.test_dataloader.dataset, outputs, '')

    def _draw(self, dataset: Any, outputs: Sequence[PoseDataSample] | None, prefix: str) -> None:
        for sample in outputs or () if self.enable else ():
            number, self.seen = self.seen, self.seen + 1
            if number % self.interval:
                continue
            visualizer = Visualizer.get_current_instance()
            visualizer.set_dataset_meta(dataset.metainfo)
            name = f'{prefix}{number:06d}_{Path(str(sample.get("img_path"))).stem}'
            visualizer.add_datasample(
                name,
                sample_image(dataset, sample),
                data_sample=merge_data_samples([sample]),
                draw_gt=False,
                draw_bbox=True,
                kpt_thr=self.kpt_thr,
                out_file=None if self.out_dir is None else str(self.out_dir / f'{name}.jpg'),
                step=number,
            )


def sample_image(dataset: Any, sample: PoseDataSample) -> np.ndarray:
    """The whole image (H, W, 3), RGB, of a sample: its file, or what its data set renders."""
    path = sample.get('img_path')
    if path is not None and Path(path).is_file():
        return imread(str(path), channel_order='rgb')
    render = getattr(dataset, 'image', None)
    if render is None or sample.get('id') is None:
        raise UserError(f'--show-dir: the image of a sample is not found: {path}')
    return np.ascontiguousarray(render(int(sample.get('id')))[..., ::-1])
