"""The evaluator of heteroscedastic poses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from mmengine.evaluator import BaseMetric
from mmengine.logging import MMLogger
from mmpose.registry import METRICS
from torch import Tensor

from hetpose.errors import UserError
from hetpose.evaluation.functional.pose import (
    correct_keypoints,
    cross_fit,
    pose_scores,
    score_means,
)
from hetpose.evaluation.selection import predicted_joints
from hetpose.ops.affine import scale_covariance
from hetpose.ops.distribution import Distribution
from hetpose.ops.spd import to_float64

UNITLESS = ('coverage', 'kl')  # the same in heatmap units and in pixels
CHUNK = 32  # samples whose covariances are held at once


@METRICS.register_module()
class HeteroscedasticPoseMetric(BaseMetric):
    """MSE, NLL, TAC, PCK, coverage, and KL and W2 to a known covariance.

    Without suffix a number is in heatmap units, as in the paper; with ``_px`` in image pixels. NLL
    is in nats per person, of the annotated joints. ``pck_05`` counts a joint as correct within
    0.05 of the longer side of its box; ``pckh_50`` within 0.5 of the head's length, which is the
    sample's ``head_size`` or the distance of ``head_joints``. ``homoscedastic_…`` judges the same
    means by a constant covariance, cross-fitted on the residuals of the evaluated set (see
    ``cross_fit``), which favours that baseline.

    A sample is scored when it arrives, and its covariance is not kept.

    Args:
        heatmap_size: (W, H), as in the codec.
        use_udp: as in the codec.
        levels: coverage of the ellipses with these probabilities.
        pck_thresholds, pckh_threshold: see above.
        joint_box: take the extent of the annotated joints for the box of ``pck_…``.
        head_joints: two joints whose distance is the head's length where samples have no
            ``head_size``.
        per_joint: report TAC of every joint as well.
        homoscedastic: report the homoscedastic baseline as well.
    """

    default_prefix = 'pose'

    def __init__(
        self,
        heatmap_size: tuple[int, int] = (64, 64),
        use_udp: bool = True,
        levels: Sequence[float] = (0.5, 0.9, 0.95),
        pck_thresholds: Sequence[float] = (0.05, 0.1),
        pckh_threshold: float = 0.5,
        head_joints: tuple[int, int] | None = None,
        joint_box: bool = False,
        per_joint: bool = True,
        homoscedastic: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.cells = np.asarray(heatmap_size, dtype=np.float64) - (1 if use_udp else 0)
        self.levels = tuple(levels)
        self.pck_thresholds = tuple(pck_thresholds)
        self.pckh_threshold = pckh_threshold
        self.head_joints = head_joints
        self.joint_box = joint_box
        self.per_joint = per_joint
        self.homoscedastic = homoscedastic
        self.joints: np.ndarray | None = None  # those that the model predicts, after a sample

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Score every sample, and keep its residual and sizes, in image pixels."""
        read = [self._read(sample) for sample in data_samples]
        for start in range(0, len(read), CHUNK):
            chunk = read[start : start + CHUNK]
            scores = self._both_units(_stack_errors(chunk), _stack(chunk, 'scale'))
            for i, result in enumerate(chunk):
                del result['covariance']
                self.results.append(
                    dict(result, scores={name: value[i].numpy() for name, value in scores.items()})
                )

    def _read(self, sample: dict) -> dict[str, Any]:
        """Residual, covariance and sizes of a sample, in image pixels."""
        truth, predicted = sample['gt_instances'], sample['pred_instances']
        if 'covariances' not in predicted:
            raise UserError(
                'the model predicts no covariances: HeteroscedasticPoseMetric needs its head'
            )
        keypoints = np.asarray(truth['keypoints'], dtype=np.float64)[0, :, :2]
        visible = np.asarray(truth['keypoints_visible'])
        present = visible.reshape(visible.shape[:2] + (-1,))[0, :, 0] > 0
        head = self._head_size(truth, keypoints, present)
        self.joints = predicted_joints(predicted, len(keypoints))
        keypoints, present = keypoints[self.joints], present[self.joints]
        residual = keypoints - np.asarray(predicted['keypoints'], dtype=np.float64)[0, :, :2]
        x1, y1, x2, y2 = np.asarray(truth['bboxes'], dtype=np.float64).reshape(-1, 4)[0]
        if self.joint_box and present.any():
            (x1, y1), (x2, y2) = keypoints[present].min(0), keypoints[present].max(0)
        result = dict(
            residual=np.where(present[:, None], residual, 0).reshape(-1),
            covariance=to_float64(torch.as_tensor(predicted['covariances'])[0]).numpy(),
            mask=np.repeat(present, 2),
            box=max(x2 - x1, y2 - y1),
            head=head,
            scale=self.cells / np.asarray(sample['input_scale'], dtype=np.float64),
        )
        if 'degrees_of_freedom' in predicted:
            result['degrees_of_freedom'] = np.asarray(predicted['degrees_of_freedom'])[0]
        if 'true_factor' in truth:
            factor = np.asarray(truth['true_factor'], dtype=np.float32)[0]
            rows = (2 * self.joints[:, None] + np.arange(2)).reshape(-1)
            result['true_factor'] = factor[rows]
        return result

    def _head_size(self, truth: dict, keypoints: np.ndarray, present: np.ndarray) -> float:
        """The head's length in image pixels, NaN where unknown."""
        if 'head_size' in truth:
            return float(np.asarray(truth['head_size']).reshape(-1)[0])
        if self.head_joints is None or not present[list(self.head_joints)].all():
            return float('nan')
        first, second = self.head_joints
        return float(np.linalg.norm(keypoints[first] - keypoints[second]))

    def compute_metrics(self, results: list[dict]) -> dict[str, float]:
        """All numbers over the samples that have an annotated joint."""
        kept = [result for result in results if result['mask'].any()]
        if len(kept) < len(results):
            MMLogger.get_current_instance().warning(
                f'{len(results) - len(kept)} of {len(results)} samples have no annotated joint: '
                'they are not evaluated'
            )
        if not kept:
            raise UserError('no evaluated sample has an annotated joint')
        scores = _join([result['scores'] for result in kept])
        metrics = score_means(scores)
        residual, mask = _stack(kept, 'residual').double(), _stack(kept, 'mask')
        box, head = _stack(kept, 'box'), _stack(kept, 'head')
        for threshold in self.pck_thresholds:
            name = f'pck_{round(100 * threshold):02d}'
            metrics[name] = correct_keypoints(residual, mask, box, threshold)
        if head.isfinite().any():
            name = f'pckh_{round(100 * self.pckh_threshold):02d}'
            metrics[name] = correct_keypoints(residual, mask, head, self.pckh_threshold)
        if self.per_joint:
            tac = scores['tac'].nanmean(0).tolist()
            metrics.update(zip(self._tac_names(len(tac)), tac, strict=True))
        if self.homoscedastic and len(kept) > 1:
            both = score_means(self._baseline(kept))
            metrics.update({f'homoscedastic_{name}': value for name, value in both.items()})
        return metrics

    def _baseline(self, kept: list[dict]) -> dict[str, Tensor]:
        """Scores of the same means under a constant covariance, a chunk of samples at a time."""
        scale = _stack(kept, 'scale')
        rows = scale.repeat(1, len(kept[0]['residual']) // 2)
        residual, mask = _stack(kept, 'residual').double() * rows, _stack(kept, 'mask')
        fitted, fold = cross_fit(residual, mask)
        parts = []
        for start in range(0, len(kept), CHUNK):
            part = slice(start, start + CHUNK)
            in_pixels = scale_covariance(fitted[fold[part]], 1 / rows[part])
            errors = _stack_errors(kept[part], in_pixels)
            parts.append(self._both_units(errors, scale[part]))
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}

    def _both_units(self, pixels: Distribution, scale: Tensor) -> dict[str, Tensor]:
        """Scores in heatmap units, and those that depend on the unit in pixels as well."""
        scores = pose_scores(pixels.rescaled(scale), self.levels)
        for name, value in pose_scores(pixels, ()).items():
            if not name.startswith(UNITLESS):
                scores[f'{name}_px'] = value
        return scores

    def _tac_names(self, count: int) -> list[str]:
        names = (self.dataset_meta or {}).get('keypoint_id2name', {})
        joints = range(count) if self.joints is None else self.joints
        return [f'tac_{names.get(int(k), k)}' for k in joints]


def _stack(results: Sequence[dict], key: str) -> Tensor:
    return torch.as_tensor(np.stack([np.asarray(result[key]) for result in results]))


def _join(scores: Sequence[dict[str, np.ndarray]]) -> dict[str, Tensor]:
    """Rows of scores as one table each; a score that a sample lacks is left out."""
    names = [name for name in scores[0] if all(name in one for one in scores)]
    return {name: _stack(scores, name) for name in names}


def _stack_errors(results: Sequence[dict], covariance: Tensor | None = None) -> Distribution:
    """The errors of some samples under their own covariances, or as Gaussians under the given."""
    known = all('true_factor' in result for result in results)
    heavy = covariance is None and all('degrees_of_freedom' in result for result in results)
    return Distribution.of_residuals(
        residual=_stack(results, 'residual').double(),
        covariance=_stack(results, 'covariance') if covariance is None else covariance,
        mask=_stack(results, 'mask'),
        true_factor=_stack(results, 'true_factor').double() if known else None,
        degrees_of_freedom=_stack(results, 'degrees_of_freedom').double() if heavy else None,
        block=2,
    )
