"""Files that are whole, or absent."""

import json
from pathlib import Path

import cv2
import jsonschema
import numpy as np
import pytest
from helpers_inference import noise_image, write_video
from mmengine.structures import InstanceData

from hetpose.apis.inference.inputs import Images, Picture, Video
from hetpose.apis.inference.outputs import VideoOutputs, open_outputs, schema, to_arrays, to_json
from hetpose.errors import UserError


def instances(count: int = 2) -> InstanceData:
    rng = np.random.default_rng(count)
    factor = rng.normal(size=(count, 6, 6))
    covariances = factor @ factor.swapaxes(-1, -2)
    return InstanceData(
        keypoints=rng.normal(size=(count, 3, 2)),
        keypoint_scores=rng.random((count, 3)),
        keypoint_covariances=np.stack([covariances[:, :2, :2]] * 3, 1),
        covariances=covariances,
        bboxes=rng.random((count, 4)),
        bbox_scores=rng.random(count),
    )


def picture(index: int = 0, output: str = 'x.jpg') -> Picture:
    return Picture(index, output, Path(output), noise_image())


def test_what_mmpose_writes_is_there_unchanged() -> None:
    from mmpose.structures import split_instances

    made = instances()
    for ours, theirs in zip(to_json(made, True), split_instances(made), strict=True):
        for name, value in theirs.items():
            np.testing.assert_array_equal(ours[name], value)


@pytest.mark.parametrize('full', [False, True])
def test_json_follows_the_schema(full: bool) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    written = json.loads(json.dumps(to_json(instances(), full)))
    jsonschema.validate(written, schema())
    jsonschema.validate([], schema())


def test_arrays_say_which_frame_a_person_is_in() -> None:
    arrays = to_arrays([instances(2), instances(0), instances(1)], [4, 5, 6])
    assert arrays['frame_id'].tolist() == [4, 4, 6]
    assert arrays['covariances'].shape == (3, 6, 6)


def test_image_outputs(tmp_path: Path) -> None:
    outputs = open_outputs(
        Images([noise_image()]), pred_out_dir=tmp_path / 'p', vis_out_dir=tmp_path / 'v'
    )
    drawn = np.zeros((20, 30, 3), np.uint8)
    drawn[..., 0] = 200
    outputs.add(picture(output='sub/x.gif'), instances(), drawn)
    assert json.loads((tmp_path / 'p/sub/x.json').read_text()) == to_json(instances())
    assert cv2.imread(str(tmp_path / 'v/sub/x.png'))[0, 0].tolist() == [0, 0, 200]


def test_a_video_is_in_place_only_when_closed(tmp_path: Path) -> None:
    video = Video(write_video(tmp_path / 'v.avi'))
    settings = dict(pred_out_dir=tmp_path / 'out', vis_out_dir=tmp_path / 'out')
    for finish, expected in (
        (VideoOutputs.abandon, []),
        (VideoOutputs.close, ['v.json', 'v.mp4']),
    ):
        outputs = VideoOutputs(video, **settings)
        outputs.add(picture(), instances(), noise_image())
        finish(outputs)
        assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == expected


def test_folders_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / 'file').touch()
    with pytest.raises(UserError, match='cannot write to folder'):
        open_outputs(Images([noise_image()]), pred_out_dir=tmp_path / 'file')
    video = Video(write_video(tmp_path / 'v.avi'))
    video.path = tmp_path / 'v.mp4'
    with pytest.raises(UserError, match='would overwrite'):
        open_outputs(video, vis_out_dir=tmp_path)
