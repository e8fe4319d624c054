"""Images per second of ``infer`` on a folder, compared with mmpose's own inferencer.

Both run the shipped network, with the same boxes, and write one JSON file for every image.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import torch
from mmengine.config import Config
from mmengine.structures import InstanceData
from mmpose.apis.inferencers import Pose2DInferencer

from hetpose import zoo
from hetpose.apis.demo.photographs import photographs
from hetpose.apis.inference.inferencer import HetPoseInferencer
from hetpose.apis.inference.people import PersonDetector
from hetpose.benchmarks.harness import Row, compare

MODEL = 'human'
COPIES = 8  # of every photograph
REQUIRED = 1.0
LONGER_SIDE = 640  # of an image, in pixels


class GivenBoxes:
    """A detector as mmpose's inferencer calls it, which knows the boxes by the file's name."""

    def __init__(self, boxes: dict[str, list[list[float]]]) -> None:
        self.boxes = boxes

    def __call__(self, path: str, return_datasamples: bool = True) -> dict[str, Any]:
        found = np.asarray(self.boxes[Path(path).name], np.float32).reshape(-1, 5)
        people = InstanceData(
            bboxes=torch.from_numpy(found[:, :4]),
            scores=torch.from_numpy(found[:, 4]),
            labels=torch.zeros(len(found), dtype=torch.long),
        )
        return {'predictions': [SimpleNamespace(pred_instances=people)]}


def write_folder(folder: Path, copies: int) -> dict[str, list[list[float]]]:
    """Copies of the demo's photographs, and the people in each: boxes by file name."""
    detector, boxes = PersonDetector.shipped(), {}
    for source in photographs():
        image = np.asarray(cv2.imread(str(source)))
        scale = min(1.0, LONGER_SIDE / max(image.shape[:2]))
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        found = [[*box[:4], 1.0] for box in detector(image).tolist()]
        for copy in range(copies):
            name = f'{source.stem}_{copy}.jpg'
            cv2.imwrite(str(folder / name), image)
            boxes[name] = found
    return boxes


def mmpose_inferencer(boxes: dict[str, list[list[float]]]) -> Pose2DInferencer:
    """mmpose's inferencer with the same network, which takes its boxes from a table."""
    config = Config.fromfile(str(zoo.FOLDER / f'{MODEL}.json'))
    made = Pose2DInferencer(
        config, str(zoo.shipped(f'{MODEL}.pth')), 'cpu', det_model='whole_image'
    )
    made.detector, made.det_cat_ids = GivenBoxes(boxes), [0]
    return made


def run(quick: bool = False) -> list[Row]:
    """One row for a batch of 1, as mmpose does it, and one for a batch of 8."""
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name) / 'images', Path(name) / 'out'
        folder.mkdir()
        boxes = write_folder(folder, 1 if quick else COPIES)
        people = sum(len(found) for found in boxes.values())
        ours = HetPoseInferencer(MODEL, device='cpu')
        theirs = mmpose_inferencer(boxes)

        def predict(inferencer: Any, options: dict[str, Any]) -> None:
            shutil.rmtree(out, ignore_errors=True)
            results = inferencer(str(folder), pred_out_dir=str(out), **options)
            assert sum(1 for _ in results) == len(boxes)

        rows = []
        for batch in (1, 8):
            times = compare(
                partial(predict, ours, dict(bboxes=boxes, batch_size=batch)),
                partial(predict, theirs, {}),
                repeats=1 if quick else 5,
            )
            rows.append(
                Row(
                    f'{len(boxes)} images, {people} people, batch {batch}',
                    {
                        'images/s': len(boxes) / times.ours,
                        'mmpose': len(boxes) / times.reference,
                        'ratio': times.ratio,
                    },
                    f'>= {REQUIRED}x mmpose',
                    None if quick else times.ratio >= REQUIRED,
                )
            )
        return rows
