"""Predictions as supervision's key points: with the package where it is installed, else a stub."""

import sys
import types
from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np
import pytest
from helpers_inference import noise_image

from hetpose.apis.inference.inferencer import HetPoseInferencer
from hetpose.apis.inference.supervision import to_supervision
from hetpose.apis.loading import PoseModel
from hetpose.errors import UserError

BOXES = [[10, 5, 60, 50, 0.5], [-25, -10, 50, 90]]


@dataclass
class KeyPoints:
    """The fields of supervision 0.31."""

    xy: np.ndarray
    class_id: np.ndarray | None = None
    keypoint_confidence: np.ndarray | None = None
    detection_confidence: np.ndarray | None = None
    visible: np.ndarray | None = None
    data: dict = field(default_factory=dict)

    @classmethod
    def empty(cls) -> 'KeyPoints':
        return cls(np.empty((0, 0, 2), np.float32))

    def __len__(self) -> int:
        return len(self.xy)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec('supervision') is None:
        stub = types.ModuleType('supervision')
        stub.KeyPoints = KeyPoints
        monkeypatch.setitem(sys.modules, 'supervision', stub)


@pytest.mark.usefixtures('package')
@pytest.mark.parametrize('full', [None, 'json'])
def test_people_keep_their_numbers(model: PoseModel, full: str | None) -> None:
    (result,) = HetPoseInferencer(model)(noise_image(), BOXES, full_covariance=full)
    people = result['predictions'][0]
    found = to_supervision(people)
    assert len(found) == 2
    np.testing.assert_allclose(found.xy, [p['keypoints'] for p in people], rtol=1e-6)
    np.testing.assert_allclose(found.keypoint_confidence, [p['keypoint_scores'] for p in people])
    np.testing.assert_allclose(found.detection_confidence, [0.5, 1])
    np.testing.assert_allclose(
        found.data['covariance'], [p['covariance'] for p in people], rtol=1e-6
    )
    assert found.data['covariance'].shape == (2, 4, 2, 2)
    assert ('full_covariance' in found.data) == (full == 'json')
    if full:
        assert found.data['full_covariance'].shape == (2, 8, 8)


@pytest.mark.usefixtures('package')
def test_the_tails_of_a_student_are_told(model: PoseModel) -> None:
    (result,) = HetPoseInferencer(model)(noise_image(), BOXES)
    people = result['predictions'][0]
    assert 'degrees_of_freedom' not in to_supervision(people).data
    heavy = [{**person, 'degrees_of_freedom': 3.0 + i} for i, person in enumerate(people)]
    np.testing.assert_array_equal(to_supervision(heavy).data['degrees_of_freedom'], [3.0, 4.0])


@pytest.mark.usefixtures('package')
def test_nobody_is_empty() -> None:
    assert len(to_supervision([])) == 0


@pytest.mark.usefixtures('package')
def test_other_things_are_refused() -> None:
    with pytest.raises(UserError, match='people of one image'):
        to_supervision([dict(frame_id=0, instances=[])])


def test_the_annotators_of_supervision_take_it(model: PoseModel) -> None:
    supervision = pytest.importorskip('supervision')
    image = noise_image(240, 320)
    (result,) = HetPoseInferencer(model)(image, [[10, 5, 200, 200]])
    found = to_supervision(result['predictions'][0])
    drawn = supervision.VertexEllipseAreaAnnotator().annotate(image.copy(), found)
    assert (drawn != image).any()
    assert len(found[found.detection_confidence > 2]) == 0


def test_without_the_package_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'supervision', None)
    with pytest.raises(UserError, match='pip install "supervision>=0.31"'):
        to_supervision([])
    old = types.ModuleType('supervision')
    old.KeyPoints = type('KeyPoints', (), {})
    monkeypatch.setitem(sys.modules, 'supervision', old)
    with pytest.raises(UserError, match='too old'):
        to_supervision([])
