"""The judge of boxes knows right from wrong."""

import contextlib
import io

import numpy as np
import pytest
from pycocotools.coco import COCO

from hetpose.benchmarks import people


@pytest.fixture
def truth() -> COCO:
    boxes = [[10, 10, 200, 300], [50, 20, 40, 60]]
    with contextlib.redirect_stdout(io.StringIO()):
        made = COCO()
        made.dataset = dict(
            images=[dict(id=1, width=400, height=400), dict(id=2, width=400, height=400)],
            categories=[dict(id=1, name='person')],
            annotations=[
                dict(id=i, image_id=i, category_id=1, bbox=box, area=box[2] * box[3], iscrowd=0)
                for i, box in enumerate(boxes, start=1)
            ],
        )
        made.createIndex()
    return made


def test_true_boxes_have_an_ap_of_one_and_none_of_zero(truth: COCO) -> None:
    right = {1: np.array([[10, 10, 210, 310, 0.9]]), 2: np.array([[50, 20, 90, 80, 0.8]])}
    assert people.average_precision(truth, right)['AP'] == pytest.approx(1)
    half = {1: right[1], 2: np.array([[250, 220, 290, 280, 0.95]])}
    assert 0.2 < people.average_precision(truth, half)['AP'] < 0.6
    assert people.average_precision(truth, {1: np.zeros((0, 5))})['AP'] == 0


def test_without_the_data_it_says_so(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('HETPOSE_DATA', str(tmp_path))
    (row,) = people.run()
    assert row.name.startswith('skipped')
    assert row.passed is None
