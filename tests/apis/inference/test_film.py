"""A smoothed film has the frames of the film, its people numbered, and less spread."""

import json
from pathlib import Path

import cv2
import jsonschema
import numpy as np
import pytest
from helpers_inference import noise_image, write_images, write_video

from hetpose.apis.inference import inputs
from hetpose.apis.inference.inferencer import HetPoseInferencer
from hetpose.apis.inference.outputs import schema
from hetpose.apis.inference.smoothing import MotionSettings, Person, Track
from hetpose.apis.loading import PoseModel
from hetpose.errors import UserError
from hetpose.ops.kalman import limb_correlation

BOXES = [[5, 5, 45, 55], [30, 5, 75, 55]]


@pytest.fixture
def inferencer(model: PoseModel) -> HetPoseInferencer:
    return HetPoseInferencer(model)


class Camera:
    """Six frames, then it is unplugged."""

    def __init__(self, number: int) -> None:
        self.left = 6 if number == 0 else 0

    def isOpened(self) -> bool:  # noqa: N802
        return self.left > 0

    def get(self, key: int) -> float:
        return 10.0

    def read(self) -> tuple[bool, np.ndarray | None]:
        self.left -= 1
        return (True, noise_image(seed=6 - self.left)) if self.left >= 0 else (False, None)

    def release(self) -> None:
        pass


def test_a_file_is_smoothed_forward_and_backward(
    inferencer: HetPoseInferencer, tmp_path: Path
) -> None:
    path = write_video(tmp_path / 'v.avi', 6)
    options = dict(bboxes=BOXES, full_covariance='json')
    raw = [r['predictions'][0] for r in inferencer(path, **options)]
    smooth = list(inferencer(path, smooth=True, out_dir=tmp_path / 'out', **options))
    found = [r['predictions'][0] for r in smooth]
    assert [[p['track_id'] for p in frame] for frame in found] == [[0, 1]] * 6
    # By hand: the track of the first box, whose box has the longer side 50.
    names = inferencer.joint_names
    bones = [(0, 2), (1, 2), (2, 3)]
    settings = MotionSettings()
    track = Track(settings, limb_correlation(len(names), bones, settings.coupling))
    for t, frame in enumerate(raw):
        joints, covariance = (np.array(frame[0][k]) for k in ('keypoints', 'full_covariance'))
        track.add(t / 10, Person(joints, covariance, 50.0))
    for frame, (joints, covariance) in zip(found, track.smoothed(), strict=True):
        np.testing.assert_allclose(frame[0]['keypoints'], joints, atol=1e-6)
        np.testing.assert_allclose(frame[0]['full_covariance'], covariance, rtol=1e-6, atol=1e-9)
    written = json.loads((tmp_path / 'out' / 'predictions' / 'v.json').read_text())
    jsonschema.validate(written, schema())
    assert [frame['instances'] for frame in written] == found
    video = cv2.VideoCapture(str(tmp_path / 'out' / 'visualizations' / 'v.mp4'))
    assert int(video.get(cv2.CAP_PROP_FRAME_COUNT)) == 6


def test_a_camera_is_smoothed_forward(
    inferencer: HetPoseInferencer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs.cv2, 'VideoCapture', Camera)
    bad: list = []
    patient = MotionSettings(gap=1e6, likeness=0.0)  # however slow the machine is
    options = dict(smooth=patient, on_bad_input=bad.append, pred_out_dir=tmp_path)
    results = list(inferencer('webcam', **options))
    assert [r['predictions'][0][0]['track_id'] for r in results] == [0] * 6
    assert [str(item) for item in bad] == ['camera 0: gave no more images after 6']
    written = json.loads((tmp_path / 'webcam0.json').read_text())
    assert [frame['instances'] for frame in written] == [r['predictions'][0] for r in results]


def test_what_a_camera_saw_is_kept_when_it_is_stopped(
    inferencer: HetPoseInferencer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = cv2.VideoCapture
    monkeypatch.setattr(
        cv2, 'VideoCapture', lambda of: Camera(of) if isinstance(of, int) else capture(of)
    )
    results = inferencer('webcam:0', out_dir=tmp_path)
    next(results)
    next(results)
    results.close()
    assert len(json.loads((tmp_path / 'predictions' / 'webcam0.json').read_text())) == 2
    assert (tmp_path / 'visualizations' / 'webcam0.mp4').is_file()


def test_a_camera_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs.cv2, 'VideoCapture', Camera)
    with pytest.raises(UserError, match='no camera 3 was found'):
        inputs.open_inputs('webcam:3')


def test_images_are_not_frames(inferencer: HetPoseInferencer, tmp_path: Path) -> None:
    write_images(tmp_path)
    with pytest.raises(UserError, match='these are images'):
        inferencer(tmp_path, smooth=True)
