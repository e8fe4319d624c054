"""The person detector that comes with hetpose, judged on COCO annotations: box AP."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from hetpose.apis.inference.people import SIDES, PersonDetector
from hetpose.benchmarks.harness import Row
from hetpose.paths import data_root

LEAST = 0.27  # AP that MoveNet MultiPose as published was measured to have there
STATISTICS = {'AP': 0, 'AP50': 1, 'AP medium': 4, 'AP large': 5, 'AR': 8}  # of COCOeval


def average_precision(truth: Any, boxes: Mapping[int, np.ndarray]) -> dict[str, float | str]:
    """COCO's numbers for boxes (N, 5) by image."""
    found = [
        dict(image_id=i, category_id=1, bbox=[*box[:2], *(box[2:4] - box[:2])], score=box[4])
        for i, many in boxes.items()
        for box in np.asarray(many, dtype=np.float64)
    ]
    if not found:
        return dict.fromkeys(STATISTICS, 0.0)
    with contextlib.redirect_stdout(io.StringIO()):  # which reports its progress
        judge = COCOeval(truth, truth.loadRes(found), 'bbox')
        judge.params.catIds = [1]
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return {name: float(judge.stats[place]) for name, place in STATISTICS.items()}


def read_truth(folder: Path) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        return COCO(str(folder / 'person_keypoints.json'))


def run(quick: bool = False) -> list[Row]:
    """Two rows; quick takes ten images."""
    folder = data_root('coco_mini')
    if not folder.is_dir():
        return [Row(f'skipped: {folder} not found')]
    truth = read_truth(folder)
    images = sorted(truth.imgs)[: 10 if quick else None]
    rows = []
    for sides in (SIDES[:1], SIDES):
        detector = PersonDetector.shipped(score=0.0)
        detector.sides = sides
        boxes = {
            i: detector(
                np.asarray(cv2.imread(str(folder / 'images' / truth.imgs[i]['file_name'])))
            )
            for i in images
        }
        numbers = average_precision(truth, boxes)
        needed = len(sides) > 1 and not quick
        rows.append(
            Row(
                f'{len(images)} images, longer side {" and ".join(map(str, sides))}',
                numbers,
                f'AP >= {LEAST}' if needed else '',
                float(numbers['AP']) >= LEAST if needed else None,
            )
        )
    return rows
