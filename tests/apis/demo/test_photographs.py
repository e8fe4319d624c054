"""Every photograph becomes a picture and a file, and has a licence."""

import json
from pathlib import Path

import cv2

from hetpose.apis.demo import photographs
from hetpose.apis.inference.inferencer import HetPoseInferencer
from hetpose.apis.inference.people import PersonDetector
from hetpose.apis.loading import PoseModel


def test_every_photograph_has_a_source_and_a_licence() -> None:
    sources = (photographs.FOLDER / 'SOURCES.md').read_text(encoding='utf-8')
    assert len(photographs.photographs()) == 3
    for path in photographs.photographs():
        (line,) = (line for line in sources.splitlines() if f'| {path.name} ' in line)
        assert 'public domain' in line or 'CC0' in line


def test_pictures_and_files_are_written(model: PoseModel, tmp_path: Path) -> None:
    found = list(photographs.draw_photographs(tmp_path, HetPoseInferencer(model)))
    assert [people for _, people, _ in found] == [1, 1, 1]  # the whole image
    for picture, _, _ in found:
        drawn, photo = (
            cv2.imread(str(path)) for path in (picture, photographs.FOLDER / picture.name)
        )
        assert drawn.shape[0] == photo.shape[0]
        assert drawn.shape[1] > 1.5 * photo.shape[1]  # the correlation to the right
        assert 'full_covariance' in json.loads(picture.with_suffix('.json').read_text())[0]


def test_the_shipped_detector_finds_the_people_of_the_photographs() -> None:
    detector = PersonDetector.shipped()
    for path in photographs.photographs():
        boxes = detector(cv2.imread(str(path)))
        assert len(boxes) == 1, path.name
        assert (boxes[0, 2:4] - boxes[0, :2]).max() > 250
