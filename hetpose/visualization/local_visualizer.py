"""The visualizer for mmpose's configs, hooks and inferencers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from mmengine.dist import master_only
from mmengine.structures import InstanceData, PixelData
from mmpose.registry import VISUALIZERS
from mmpose.structures import PoseDataSample
from mmpose.visualization import PoseLocalVisualizer

from hetpose.fileio import write_image
from hetpose.visualization.drawing import (
    BOX,
    HALO,
    Stroke,
    draw_legend,
    draw_polyline,
    draw_pose,
    draw_text,
    joint_sides,
    person_colour,
)
from hetpose.visualization.geometry import (
    coverage_radius,
    enlarged,
    joint_covariances,
    joint_indices,
)
from hetpose.visualization.panels import (
    PANELS,
    append_panels,
    correlation_panel,
    fit_height,
    heatmap_panel,
)


@VISUALIZERS.register_module()
class HetPoseVisualizer(PoseLocalVisualizer):
    """Skeletons with an ellipse around every joint that holds it with probability ``coverage``.

    It reads ``keypoint_covariances`` (N, K, 2, 2), or ``covariances`` (N, 2K, 2K), or
    ``true_factor`` (N, 2K, m), with ``keypoints`` (N, K, 2), in pixels² and pixels of the image
    that it draws on. Without any of them it draws the skeleton alone. With ``degrees_of_freedom``
    (N,) the ellipses are those of a Student-t. Colours stand for left,
    right and centre; line widths follow the image's size.

    Args:
        coverage: The probability that an ellipse holds the joint, exact for a Gaussian
            and for a Student-t.
        panels: What to add to the right of the picture: 'correlation' and 'heatmaps'.
        legend: Whether to write on the picture what the ellipses and colours mean.
        line_scale: Factor on every line width.
        thickness, joint_radius: Width of a line and radius of a joint in pixels of the picture;
            None lets them follow the image's size.
        smallest: An image whose longer side has fewer pixels is enlarged by a whole number, so
            that lines do not bury it and the legend can be read; 0 enlarges none.
        **kwargs: Those of mmpose's PoseLocalVisualizer.
    """

    def __init__(
        self,
        name: str = 'visualizer',
        *args: Any,
        coverage: float = 0.9,
        panels: Sequence[str] = (),
        legend: bool = True,
        line_scale: float = 1.0,
        thickness: int | None = None,
        joint_radius: int | None = None,
        smallest: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, *args, **kwargs)
        coverage_radius(coverage)
        unknown = sorted(set(panels) - set(PANELS))
        if unknown:
            raise ValueError(f'panels: unknown {unknown}; known: {list(PANELS)}')
        self.coverage = coverage
        self.panels = tuple(panels)
        self.legend = legend
        self.line_scale = line_scale
        self.thickness, self.joint_radius, self.smallest = thickness, joint_radius, smallest

    def joint_names(self, joints: Sequence[int]) -> list[str]:
        """The names in the data set's meta information, else the joints' numbers."""
        names = self.dataset_meta.get('keypoint_id2name') or {}
        return [str(names.get(k, k)) for k in joints]

    def _draw_instances_kpts(
        self,
        image: np.ndarray,
        instances: InstanceData,
        kpt_thr: float = 0.3,
        show_kpt_idx: bool = False,
        skeleton_style: str = 'mmpose',
    ) -> np.ndarray:
        """Draw every instance. Joints whose score is below ``kpt_thr`` are left out."""
        image = np.ascontiguousarray(image).copy()
        if 'keypoints' in instances:
            keypoints = np.asarray(instances.get('transformed_keypoints', instances.keypoints))
            joints = joint_indices(instances, keypoints.shape[1])
            sides = joint_sides(self.joint_names(joints))
            covariances = joint_covariances(instances)
            tails = instances.get('degrees_of_freedom')
            numbers = instances.get('track_ids', np.arange(len(keypoints)))
            place = {joint: k for k, joint in enumerate(joints)}
            links = [
                (place[a], place[b]) for a, b in self.skeleton or () if {a, b} <= place.keys()
            ]
            visible = np.asarray(instances.get('keypoints_visible', np.ones(keypoints.shape[:2])))
            # mmpose also packs (N, K, 2): visibility and weight.
            visible = visible[..., 0] if visible.ndim == 3 else visible
            for i, joints in enumerate(keypoints):
                blocks = None if covariances is None else covariances[i]
                shown = visible[i] >= kpt_thr
                draw_pose(
                    image,
                    joints,
                    sides,
                    links,
                    blocks,
                    shown,
                    self.coverage,
                    self._stroke(image, joints[shown]),
                    float(tails[i]) if tails is not None else None,
                    person_colour(int(numbers[i]), len(keypoints)),
                )
                if show_kpt_idx:
                    self._draw_indices(image, joints, shown)
            if self.legend and covariances is not None:
                draw_legend(image, f'{100 * self.coverage:.4g}% ellipses', sides)
        self.set_image(image)
        return image

    def _stroke(self, image: np.ndarray, joints: np.ndarray) -> Stroke:
        """Widths for a person: those asked for, else what the sizes ask for."""
        stroke = Stroke.for_person(image, joints, self.line_scale)
        if self.thickness is not None:
            rim = stroke.halo - stroke.line
            stroke = replace(stroke, line=self.thickness, halo=self.thickness + rim)
        if self.joint_radius is not None:
            stroke = replace(stroke, radius=self.joint_radius)
        return stroke

    def _draw_indices(self, image: np.ndarray, joints: np.ndarray, shown: np.ndarray) -> None:
        height = max(7.0, 0.016 * float(np.sqrt(image.shape[0] * image.shape[1])))
        for k in np.flatnonzero(shown & np.isfinite(joints).all(-1)):
            draw_text(image, str(k), (round(joints[k, 0]) + 3, round(joints[k, 1]) - 3), height)

    def _draw_instances_bbox(self, image: np.ndarray, instances: InstanceData) -> np.ndarray:
        """Draw the boxes, also where they reach out of the image."""
        image = np.ascontiguousarray(image).copy()
        stroke = Stroke.for_image(image, self.line_scale)
        for x1, y1, x2, y2 in np.asarray(instances.get('bboxes', np.zeros((0, 4))))[:, :4]:
            corners = np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])
            draw_polyline(image, corners, HALO, stroke.halo, closed=True)
            draw_polyline(image, corners, BOX, stroke.line, closed=True)
        self.set_image(image)
        return image

    def _draw_instance_heatmap(
        self, fields: PixelData, overlaid_image: np.ndarray | None = None
    ) -> np.ndarray | None:
        """Heatmaps, stretched over the image."""
        if 'heatmaps' not in fields or overlaid_image is None:
            return None
        return heatmap_panel(overlaid_image, np.asarray(fields.heatmaps))

    def _draw_panels(self, image: np.ndarray, sample: PoseDataSample) -> list[np.ndarray]:
        panels = []
        instances = sample.get('pred_instances')
        if 'correlation' in self.panels and instances is not None:
            panels.append(self._correlation(instances, image.shape[0]))
        if 'heatmaps' in self.panels and instances is not None:
            heat = None
            if 'pred_fields' in sample:
                heat = self._draw_instance_heatmap(sample.pred_fields, image)
            # Without a person a cold one, so that the frames stay equal.
            cold = np.zeros((1, *image.shape[:2]), np.float32)
            panels.append(heatmap_panel(image, cold) if heat is None else heat)
        return panels

    def _correlation(self, instances: InstanceData, height: int) -> np.ndarray:
        """The first person's matrix; without a person zeros, so that the frames stay equal."""
        count = len(instances.keypoints) if 'keypoints' in instances else 0
        if not count or 'covariances' not in instances:
            joints = len(self.dataset_meta.get('keypoint_id2name') or {}) or 1
            return correlation_panel(
                np.zeros((2 * joints, 2 * joints)), self.joint_names(range(joints)), height
            )
        covariance = np.asarray(instances.covariances)[0]
        title = 'joint correlation' + (f', person 1 of {count}' if count > 1 else '')
        names = self.joint_names(joint_indices(instances, len(covariance) // 2))
        return correlation_panel(covariance, names, height, title)

    @master_only
    def add_datasample(
        self,
        name: str,
        image: np.ndarray,
        data_sample: PoseDataSample,
        draw_gt: bool = True,
        draw_pred: bool = True,
        draw_heatmap: bool = False,
        draw_bbox: bool = False,
        show_kpt_idx: bool = False,
        skeleton_style: str = 'mmpose',
        show: bool = False,
        wait_time: float = 0,
        out_file: str | None = None,
        kpt_thr: float = 0.3,
        step: int = 0,
    ) -> np.ndarray:
        """Draw a sample and give it to all backends; mmpose's arguments.

        Ground truth and prediction stand side by side, panels to the right, and with
        ``draw_heatmap`` the heatmaps below, as mmpose does it.
        """
        factor = -(-self.smallest // max(image.shape[:2]))
        if factor > 1:
            image = cv2.resize(image, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC)
            data_sample = enlarged(data_sample, factor)
        columns = []
        for wanted, kind in ((draw_gt, 'gt'), (draw_pred, 'pred')):
            if wanted:
                column = self._column(image, data_sample, kind, kpt_thr, show_kpt_idx, draw_bbox)
                heat = self._heatmap_below(image, data_sample, kind) if draw_heatmap else None
                columns.append(np.concatenate([column, heat]) if heat is not None else column)
        tallest = max((column.shape[0] for column in columns), default=0)
        columns = [fit_height(column, tallest) for column in columns] or [image.copy()]
        drawn = append_panels(columns[0], columns[1:] + self._draw_panels(image, data_sample))
        self.set_image(drawn)
        if show:
            self.show(drawn, win_name=name, wait_time=wait_time)
        if out_file is not None:
            write_image(out_file, drawn[..., ::-1])
        else:
            self.add_image(name, drawn, step)
        return self.get_image()

    def _column(
        self,
        image: np.ndarray,
        sample: PoseDataSample,
        kind: str,
        kpt_thr: float,
        show_kpt_idx: bool,
        draw_bbox: bool,
    ) -> np.ndarray:
        instances = sample.get(f'{kind}_instances')
        if instances is None:
            return image.copy()
        # Boxes first: a joint's ellipse is never hidden by a box.
        drawn = self._draw_instances_bbox(image, instances) if draw_bbox else image
        return self._draw_instances_kpts(drawn, instances, kpt_thr, show_kpt_idx)

    def _heatmap_below(
        self, image: np.ndarray, sample: PoseDataSample, kind: str
    ) -> np.ndarray | None:
        fields = sample.get(f'{kind}_fields')
        return None if fields is None else self._draw_instance_heatmap(fields, image)
