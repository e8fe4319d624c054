"""Suppression against brute force over all pairs."""

import pytest
import torch
from torch import Tensor

from hetpose.ops.nms import GAUSSIAN, LINEAR, NAIVE, mmcv_soft_nms, nms, overlap, soft_nms


def random_boxes(count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Whole-numbered boxes, some without area, with scores of which some are equal."""
    generator = torch.Generator().manual_seed(seed)
    low = torch.randint(0, 30, (count, 2), generator=generator)
    size = torch.randint(0, 15, (count, 2), generator=generator)
    scores = torch.randint(1, 50, (count,), generator=generator) / 50
    return torch.cat([low, low + size], 1).double(), scores.double()


def pixels(box: list[float], offset: int) -> set[tuple[int, int]]:
    x1, y1, x2, y2 = (int(value) for value in box)
    return {(x, y) for x in range(x1, x2 + offset) for y in range(y1, y2 + offset)}


def iou(a: Tensor, b: Tensor, offset: int) -> float:
    """By counting pixels."""
    first, second = pixels(a.tolist(), offset), pixels(b.tolist(), offset)
    return len(first & second) / max(len(first | second), 1)


def brute_force(boxes: Tensor, scores: Tensor, threshold: float, offset: int) -> list[int]:
    """A box is kept unless a kept box before it overlaps it too much."""
    order = sorted(range(len(boxes)), key=lambda i: (-scores[i].item(), i))
    kept: list[int] = []
    for i in order:
        if all(iou(boxes[i], boxes[j], offset) <= threshold for j in kept):
            kept.append(i)
    return kept


@pytest.mark.parametrize('offset', [0, 1])
@pytest.mark.parametrize('threshold', [0.0, 0.3, 0.7, 1.0])
def test_the_kept_are_those_of_brute_force(threshold: float, offset: int) -> None:
    for seed in range(10):
        boxes, scores = random_boxes(40, seed)
        found = nms(boxes, scores, threshold, offset).tolist()
        assert found == brute_force(boxes, scores, threshold, offset)


def test_overlap_counts_pixels() -> None:
    boxes, _ = random_boxes(30)
    for offset in (0, 1):
        for box in boxes[:5]:
            expected = torch.tensor([iou(box, other, offset) for other in boxes]).double()
            torch.testing.assert_close(overlap(box, boxes, offset), expected)


@pytest.mark.parametrize('method', [NAIVE, LINEAR, GAUSSIAN])
def test_soft_scores_are_products_over_the_better_boxes(method: int) -> None:
    boxes, scores = random_boxes(30)
    kept, indices = soft_nms(boxes, scores, 0.3, 0.5, 0.05, method)
    weights = {
        NAIVE: lambda v: float(v <= 0.3),
        LINEAR: lambda v: 1 - v if v > 0.3 else 1.0,
        GAUSSIAN: lambda v: float(torch.exp(torch.tensor(-(v**2) / 0.5).double())),
    }
    for rank, i in enumerate(indices.tolist()):
        expected = scores[i].item()
        for j in indices[:rank].tolist():
            expected *= weights[method](iou(boxes[i], boxes[j], 0))
        assert kept[rank, 4].item() == pytest.approx(expected)
    assert (kept[1:, 4] >= 0.05).all()
    assert (kept[:-1, 4] >= kept[1:, 4] - 1e-12).all()


def test_naive_soft_suppression_is_suppression() -> None:
    boxes, scores = random_boxes(40)
    _, indices = soft_nms(boxes, scores, 0.5, 0.5, 1e-3, NAIVE)
    assert sorted(indices.tolist()) == sorted(nms(boxes, scores, 0.5).tolist())
    results = torch.empty(40, 5).double()
    settings = dict(iou_threshold=0.5, sigma=0.5, min_score=1e-3, method=NAIVE, offset=0)
    again = mmcv_soft_nms(boxes, scores, results, **settings)
    torch.testing.assert_close(results[: len(again), :4], boxes[again])


def test_nothing_in_nothing_out() -> None:
    boxes, scores = torch.zeros(0, 4), torch.zeros(0)
    assert nms(boxes, scores, 0.5).shape == (0,)
    assert soft_nms(boxes, scores, 0.5, 0.5, 0.1, LINEAR)[0].shape == (0, 5)
