"""The network's part of an inferencer: crops in, Gaussians over image pixels out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.dataset import pseudo_collate
from mmengine.structures import InstanceData, PixelData
from mmpose.structures import PoseDataSample
from mmpose.structures.utils import revert_heatmap

from hetpose.apis.calibration.recalibration import Recalibration, weights_fingerprint
from hetpose.apis.inference.boxes import BoxSource
from hetpose.apis.inference.conditioning import Given, condition_pose, scores_from
from hetpose.apis.inference.inputs import BadInput, Picture
from hetpose.apis.loading import PoseModel
from hetpose.errors import PredictionError, UserError
from hetpose.models.heads.posthoc_head import PosthocCovarianceHead
from hetpose.ops.spd import joint_blocks

Report = Callable[[BadInput], None]
ROUNDING = 1e-6  # of float32, in which a foreign head may form its covariance


@dataclass
class Batch:
    """Crops that wait for the network, and the pictures that they came from."""

    pictures: list[tuple[Picture, int]] = field(default_factory=list)
    crops: list[dict] = field(default_factory=list)

    def add(self, picture: Picture, crops: list[dict]) -> None:
        self.pictures.append((picture, len(crops)))
        self.crops += crops


class Predictor:
    """A model with its test pipeline and its calibration, for pictures with boxes."""

    def __init__(
        self, model: PoseModel, calibration: str | Path | Recalibration | None = None
    ) -> None:
        self.model = model
        self.pipeline = model.pipeline()
        self.joint_names = model.joint_names
        self.calibration = self._load_calibration(calibration)
        # Convolutions of a CPU are a tenth faster so for one crop, and almost twice for eight.
        model.network.to(memory_format=torch.channels_last)

    def _load_calibration(self, given: str | Path | Recalibration | None) -> Recalibration | None:
        if given is None:
            return None
        expected: dict[str, Any] = dict(
            dim=2 * len(self.joint_names),
            joint_names=self.joint_names,
            model=self.model.name,
            weights=weights_fingerprint(self.model.network),
        )
        if isinstance(given, Recalibration):
            found = given.check(**expected)
        else:
            found = Recalibration.load(given, **expected)
        if found.units not in ('', 'pixels'):
            raise UserError(f'the calibration was fitted in {found.units}; poses are in pixels')
        return found

    def predict(
        self,
        source: Iterable[Picture | BadInput],
        boxes: BoxSource,
        batch_size: int,
        report: Report,
        heatmaps: bool = False,
    ) -> Iterator[tuple[Picture, PoseDataSample]]:
        """Every picture with the people in its boxes, in order; what is bad is reported."""
        batch = Batch()
        for item in source:
            bad = item if isinstance(item, BadInput) else self._add(batch, item, boxes)
            if bad or max(len(batch.crops), len(batch.pictures)) >= batch_size:
                yield from self._flush(batch, batch_size, report, heatmaps)
                batch = Batch()
            if bad:
                report(bad)  # after what came before it
        yield from self._flush(batch, batch_size, report, heatmaps)

    def _add(self, batch: Batch, picture: Picture, boxes: BoxSource) -> BadInput | None:
        """Put the crops of a picture's boxes into the batch, or return what is bad about it."""
        try:
            found = boxes.find(picture)
        except ValueError as error:
            return BadInput(picture.name, str(error))
        batch.add(picture, [self._crop(picture, box) for box in found])
        return None

    def _crop(self, picture: Picture, box: np.ndarray) -> dict:
        """The network's input for one box (5,), by the config's own test pipeline."""
        return self.pipeline(
            dict(
                self.model.meta,
                img=picture.image,
                img_path=picture.name,
                img_id=picture.index,
                bbox=box[None, :4].copy(),
                bbox_score=box[4:].copy(),
            )
        )

    def _flush(
        self, batch: Batch, batch_size: int, report: Report, heatmaps: bool
    ) -> Iterator[tuple[Picture, PoseDataSample]]:
        samples: list[PoseDataSample | PredictionError] = []
        for start in range(0, len(batch.crops), batch_size):
            # Another generator of the same model may have wanted it otherwise.
            self.model.network.test_cfg['output_heatmaps'] = heatmaps
            samples += self._run(batch.crops[start : start + batch_size])
        for picture, count in batch.pictures:
            mine, samples = samples[:count], samples[count:]
            failed = next((one for one in mine if isinstance(one, PredictionError)), None)
            if failed is None:
                yield picture, self._merge(picture, mine)  # type: ignore[arg-type]
            else:
                report(BadInput(picture.name, str(failed)))

    @torch.no_grad()
    def _run(self, crops: list[dict]) -> list[PoseDataSample | PredictionError]:
        """The predictions of the crops, or the error of each that has none."""
        try:
            return list(self.model.network.test_step(pseudo_collate(crops)))
        except PredictionError as error:
            if len(crops) == 1:
                return [error]
        return [one for crop in crops for one in self._run([crop])]

    def _merge(self, picture: Picture, samples: list[PoseDataSample]) -> PoseDataSample:
        """All people of an image in one sample, recalibrated."""
        height, width = picture.image.shape[:2]
        merged = PoseDataSample(metainfo=dict(img_path=picture.name, ori_shape=(height, width)))
        people = [sample.pred_instances for sample in samples]
        merged.pred_instances = InstanceData.cat(people) if people else self._nobody()
        if self.calibration is not None:
            covariances = self.calibration.apply(merged.pred_instances.covariances)
            self.replace(merged.pred_instances, covariances)
        if any('pred_fields' in sample for sample in samples):
            merged.pred_fields = PixelData(heatmaps=_heat(samples, (height, width)))
        return merged

    def _nobody(self) -> InstanceData:
        joints = len(self.joint_names)
        heavy = self.model.network.head.covariance.heavy_tailed
        tails = dict(degrees_of_freedom=np.zeros(0)) if heavy else {}
        if isinstance(self.model.network.head, PosthocCovarianceHead):
            tails['keypoint_probabilities'] = np.zeros((0, joints), np.float32)
        return InstanceData(
            **tails,
            keypoints=np.zeros((0, joints, 2), np.float32),
            keypoint_scores=np.zeros((0, joints), np.float32),
            keypoints_visible=np.zeros((0, joints), np.float32),
            keypoint_covariances=np.zeros((0, joints, 2, 2), np.float32),
            covariances=np.zeros((0, 2 * joints, 2 * joints), np.float32),
            bboxes=np.zeros((0, 4), np.float32),
            bbox_scores=np.zeros(0, np.float32),
        )

    def replace(self, instances: InstanceData, covariances: np.ndarray) -> None:
        """Set the covariances (N, 2K, 2K) and all that follows from them."""
        nu = instances.get('degrees_of_freedom')
        scores = scores_from(covariances, instances.bboxes, self.model.score_radius, nu)
        instances.covariances = covariances
        instances.keypoint_covariances = joint_blocks(covariances)
        if 'keypoint_probabilities' in instances:  # the scores are those of a wrapped head
            instances.keypoint_probabilities = scores
        else:
            instances.keypoint_scores = instances.keypoints_visible = scores

    def condition(self, sample: PoseDataSample, given: Given, robust: bool = False) -> None:
        """Move the one person of a sample to where the given joints put it."""
        people = sample.pred_instances
        if len(people.keypoints) != 1:
            raise ValueError(f'given joints belong to one person, not {len(people.keypoints)}')
        tails = people.get('degrees_of_freedom')
        keypoints, covariance, nu = condition_pose(
            people.keypoints[0],
            people.covariances[0],
            given,
            self.joint_names,
            None if tails is None else float(tails[0]),
            robust,
        )
        people.keypoints = keypoints[None]
        if nu is not None:
            people.degrees_of_freedom = np.array([nu])
        self.replace(people, covariance[None])


def check_predictions(instances: InstanceData) -> None:
    """Refuse numbers that are not finite, and covariances that are not positive semidefinite.

    A joint that was given has no variance, so that zero is allowed.
    """
    for name in ('keypoints', 'covariances'):
        if not np.isfinite(instances[name]).all():
            raise ValueError(f'the model predicts {name} that are not finite')
    if len(instances.covariances):
        values = np.linalg.eigvalsh(np.asarray(instances.covariances, dtype=np.float64))
        if (values[:, 0] < -ROUNDING * values[:, -1]).any():
            raise ValueError(
                'the model predicts a covariance with a negative eigenvalue '
                f'({values[:, 0].min():.3g}); raise its variance floor'
            )


def _heat(samples: Sequence[PoseDataSample], shape: tuple[int, int]) -> np.ndarray:
    """The largest of all joints' and all people's heatmaps, on the image: (1, H, W)."""
    maps: list[np.ndarray] = []
    for sample in samples:
        meta = sample.metainfo
        heat = np.asarray(sample.pred_fields.heatmaps.max(0).values.cpu())
        maps.append(revert_heatmap(heat, meta['input_center'], meta['input_scale'], shape))
    return np.max(maps, axis=0)[None]
