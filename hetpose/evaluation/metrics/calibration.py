"""The calibration evaluator, for poses and for regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from mmengine.evaluator import BaseMetric
from mmpose.registry import METRICS
from torch import Tensor

from hetpose.errors import UserError
from hetpose.evaluation.functional.scores import (
    SampleScores,
    score_parts,
    score_samples,
    summarise,
)
from hetpose.evaluation.selection import predicted_joints
from hetpose.ops.distribution import Distribution
from hetpose.ops.spd import to_float64


def read_sample(
    sample: Mapping[str, Any], batch: Any = None, block: int | None = None
) -> Distribution:
    """The persons of a pose sample, in image pixels, or the rows of a regression batch.

    Args:
        sample: a pose sample with its truth, or dict(mean=(n, d), covariance=(n, d, d)).
        batch: what the sample was predicted from; holds the target y (n, d) of a regression.
        block: dimensions of a part; None takes 2 for poses and 1 for regression.
    """
    if 'pred_instances' in sample:
        return _read_pose(sample, block or 2)
    known = {**(batch if isinstance(batch, Mapping) else {}), **sample}
    missing = [name for name in ('mean', 'covariance', 'y') if known.get(name) is None]
    if missing:
        raise UserError(
            f'a prediction lacks {", ".join(missing)}: calibration needs mean, covariance, target'
        )
    mean, target = (_tensor(known[name]).double() for name in ('mean', 'y'))
    covariance = to_float64(_tensor(known['covariance']))
    return Distribution(mean, covariance, _degrees_of_freedom(known), target, block=block or 1)


def _read_pose(sample: Mapping[str, Any], block: int) -> Distribution:
    truth, predicted = sample['gt_instances'], sample['pred_instances']
    if 'covariances' not in predicted:
        raise UserError('the model predicts no covariances: calibration needs HeteroscedasticHead')
    keypoints = _tensor(truth['keypoints']).double()[..., :2]  # (n, K, 2)
    visible = _tensor(truth['keypoints_visible'])
    visible = visible.reshape(*visible.shape[:2], -1)[..., 0] > 0
    mean = _tensor(predicted['keypoints']).double()[..., :2]
    joints = torch.as_tensor(predicted_joints(predicted, keypoints.shape[1]))
    keypoints, visible = keypoints[:, joints], visible[:, joints]
    return Distribution(
        mean.flatten(1),
        to_float64(_tensor(predicted['covariances'])),
        _degrees_of_freedom(predicted),
        keypoints.flatten(1),
        visible.repeat_interleave(2, dim=-1),
        block=block,
    )


def _degrees_of_freedom(predicted: Mapping[str, Any]) -> Tensor | None:
    """ν (n,) of Student-t predictions, None of Gaussians."""
    if 'degrees_of_freedom' not in predicted:
        return None
    return _tensor(predicted['degrees_of_freedom']).double()


def _tensor(value: Any) -> Tensor:
    return value.cpu() if isinstance(value, Tensor) else torch.as_tensor(np.asarray(value))


@METRICS.register_module()
class CalibrationMetric(BaseMetric):
    """Coverage, ECE, PIT, ENCE, energy score, sharpness and AUSE of predicted distributions.

    ``whole/…`` judges all dimensions together, ``part/…`` is the mean over the parts (joints of a
    pose, dimensions of a regression), ``<name>/…`` one part. Lengths of poses are in image pixels.

    A sample is scored when it arrives, and its covariance is not kept.

    Args:
        block: dimensions of a part; None takes 2 for poses and 1 for regression.
        per_part: report every part as well.
    """

    default_prefix = 'calibration'

    def __init__(self, block: int | None = None, per_part: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.block = block
        self.per_part = per_part
        self.joints: Any = None  # numbers (1, K') of the predicted joints, where not all are

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Score every sample and its parts."""
        for sample in data_samples:
            predicted = read_sample(sample, data_batch, self.block)
            if 'pred_instances' in sample and predicted.block == 2:
                self.joints = sample['pred_instances'].get('keypoint_indices')
            self.results.append((score_samples(predicted), score_parts(predicted)))

    def compute_metrics(
        self, results: list[tuple[SampleScores, SampleScores]]
    ) -> dict[str, float]:
        """All scores over all samples."""
        samples, blocks = (SampleScores.joined(rows) for rows in zip(*results, strict=True))
        whole = summarise(samples).numbers()
        metrics = {f'whole/{name}': value for name, value in whole.items()}
        parts = {
            k: summarise(blocks.part(k)).numbers()
            for k in range(blocks.dims.shape[1])
            if bool(blocks.dims[:, k].any())
        }
        for name in next(iter(parts.values())):
            values = [part[name] for part in parts.values() if name in part]
            metrics[f'part/{name}'] = float(np.mean(values))
        if self.per_part:
            for k, part in parts.items():
                metrics |= {f'{self._name(k)}/{name}': value for name, value in part.items()}
        return metrics

    def _name(self, k: int) -> str:
        k = k if self.joints is None else int(self.joints[0][k])
        return str((self.dataset_meta or {}).get('keypoint_id2name', {}).get(k, k))
