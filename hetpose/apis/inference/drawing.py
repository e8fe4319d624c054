"""How the picture of a prediction is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mmpose.structures import PoseDataSample

from hetpose.apis.inference.inputs import Picture
from hetpose.visualization import HetPoseVisualizer


@dataclass(frozen=True)
class Drawing:
    """The settings of a picture; they are the arguments of ``HetPoseInferencer``."""

    wanted: bool
    draw_bbox: bool = False
    kpt_thr: float = 0.0
    show: bool = False
    wait_time: float = 0.0
    returned: bool = False
    coverage: float = 0.9
    panels: tuple[str, ...] = ()
    thickness: int | None = None
    radius: int | None = None
    black_background: bool = False
    show_kpt_idx: bool = False

    def draw(
        self, visualizer: HetPoseVisualizer, picture: Picture, sample: PoseDataSample
    ) -> np.ndarray | None:
        """The picture (H, W, 3), RGB, with its people; None where no picture is wanted."""
        if not self.wanted:
            return None
        image = np.ascontiguousarray(picture.image[..., ::-1])
        visualizer.coverage, visualizer.panels = self.coverage, self.panels
        visualizer.thickness, visualizer.joint_radius = self.thickness, self.radius
        return visualizer.add_datasample(
            Path(picture.name).name,
            np.zeros_like(image) if self.black_background else image,
            sample,
            draw_gt=False,
            draw_bbox=self.draw_bbox,
            show_kpt_idx=self.show_kpt_idx,
            kpt_thr=self.kpt_thr,
            show=self.show,
            wait_time=self.wait_time,
        )
