"""Both inferencers see the same people: the comparison is of equal work."""

from pathlib import Path

import numpy as np
import pytest

from hetpose.apis.inference.inferencer import HetPoseInferencer
from hetpose.benchmarks import infer


def test_both_predict_the_same_joints_of_the_same_people(tmp_path: Path) -> None:
    boxes = infer.write_folder(tmp_path, copies=1)
    assert sum(len(found) for found in boxes.values()) >= 2
    ours = HetPoseInferencer(infer.MODEL, device='cpu')(str(tmp_path), bboxes=boxes)
    theirs = infer.mmpose_inferencer(boxes)(str(tmp_path))
    for one, other in zip(ours, theirs, strict=True):
        people, others = one['predictions'][0], other['predictions'][0]
        assert len(people) == len(others) == len(boxes[Path(one['input']).name])
        for a, b in zip(people, others, strict=True):
            np.testing.assert_allclose(a['keypoints'], b['keypoints'], atol=1e-2)


def test_a_detector_of_given_boxes_answers_as_mmdet_does() -> None:
    found = infer.GivenBoxes({'a.jpg': [[1, 2, 3, 4, 0.9]]})('folder/a.jpg')['predictions'][0]
    assert found.pred_instances.bboxes.tolist() == [[1, 2, 3, 4]]
    with pytest.raises(KeyError):
        infer.GivenBoxes({})('b.jpg')
