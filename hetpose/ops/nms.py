"""Non-maximum suppression in plain torch, for where mmcv's compiled operators are missing.

Boxes are (N, 4): x1, y1, x2, y2; with ``offset`` 1 both corners belong to the box.
"""

from __future__ import annotations

import torch
from torch import Tensor

NAIVE, LINEAR, GAUSSIAN = range(3)  # how soft-NMS lowers scores


def overlap(box: Tensor, boxes: Tensor, offset: int = 0) -> Tensor:
    """Intersection over union of one box (4,) with others (N, 4): (N,)."""
    low = torch.maximum(box[:2], boxes[:, :2])
    high = torch.minimum(box[2:], boxes[:, 2:])
    shared = (high - low + offset).clamp(min=0).prod(-1)
    areas = (boxes[:, 2:] - boxes[:, :2] + offset).prod(-1)
    area = (box[2:] - box[:2] + offset).prod()
    return shared / (area + areas - shared).clamp(min=torch.finfo(boxes.dtype).tiny)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int = 0) -> Tensor:
    """Keep the best box, drop what overlaps it by more than the threshold, and so on.

    Shapes: boxes (N, 4), scores (N,) -> indices of the kept boxes, the best first.
    """
    left = scores.argsort(descending=True, stable=True)
    kept = []
    while left.numel():
        best, left = left[0], left[1:]
        kept.append(best)
        left = left[overlap(boxes[best], boxes[left], offset) <= iou_threshold]
    return torch.stack(kept) if kept else left


def soft_nms(
    boxes: Tensor,
    scores: Tensor,
    iou_threshold: float,
    sigma: float,
    min_score: float,
    method: int,
    offset: int = 0,
) -> tuple[Tensor, Tensor]:
    """Lower the scores of boxes that overlap a better one, instead of dropping them.

    By 1 − IoU where that exceeds the threshold (LINEAR), by exp(−IoU² / sigma) (GAUSSIAN), or to 0
    where it exceeds the threshold (NAIVE). Boxes that fall below ``min_score`` are dropped.

    Shapes: boxes (N, 4), scores (N,) -> kept boxes with their new scores (M, 5), indices (M,).
    """
    scores, left = scores.clone(), torch.arange(len(scores), device=scores.device)
    kept = []
    while left.numel():
        first = scores[left].argmax()
        best = left[first]
        kept.append(best)
        left = torch.cat([left[:first], left[first + 1 :]])
        iou = overlap(boxes[best], boxes[left], offset)
        if method == GAUSSIAN:
            weight = torch.exp(-(iou**2) / sigma)
        else:
            lowered = 1 - iou if method == LINEAR else torch.zeros_like(iou)
            weight = torch.where(iou > iou_threshold, lowered, torch.ones_like(iou))
        scores[left] = scores[left] * weight
        left = left[scores[left] >= min_score]
    indices = torch.stack(kept) if kept else left
    return torch.cat([boxes[indices], scores[indices, None]], dim=1), indices


def mmcv_soft_nms(boxes: Tensor, scores: Tensor, results: Tensor, **settings: float) -> Tensor:
    """``soft_nms`` as mmcv calls it: the boxes go into ``results`` (N, 5), indices come back."""
    found, indices = soft_nms(boxes, scores, **settings)  # type: ignore[arg-type]
    results[: len(found)] = found
    return indices
