"""Inputs of every kind, and what is said of bad ones."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from helpers_inference import noise_image, write_images, write_video

from hetpose.apis.inference.inputs import BadInput, Images, Picture, Video, as_bgr, open_inputs
from hetpose.errors import UserError


def test_a_folder_and_a_glob_give_the_same_images_in_order(tmp_path: Path) -> None:
    paths = write_images(tmp_path / 'images')
    (tmp_path / 'images' / 'notes.txt').write_text('no image')
    (tmp_path / 'images' / '.0-0123abcd.tmp.png').write_text('left by a kill')
    for inputs in (
        tmp_path / 'images',
        str(tmp_path / 'images' / '*.png'),
        [str(p) for p in paths],
    ):
        found = list(open_inputs(inputs))
        assert [item.name for item in found] == [str(path) for path in paths]
        assert [str(item.output) for item in found] == ['0.png', '1.png', '2.png']
        np.testing.assert_array_equal(found[1].image, cv2.imread(str(paths[1])))


def test_arrays_are_taken_as_they_are() -> None:
    image = noise_image()
    (item,) = open_inputs(image)
    np.testing.assert_array_equal(item.image, image)
    grey = as_bgr(image[..., 0])
    assert grey.shape == image.shape
    assert (grey[..., 0] == grey[..., 2]).all()


@pytest.mark.parametrize(
    'array', [np.zeros((4, 4, 3)), np.zeros((4, 4, 4), np.uint8), np.zeros((0, 4, 3), np.uint8)]
)
def test_arrays_that_are_no_images(array: np.ndarray) -> None:
    (item,) = Images([array])
    assert isinstance(item, BadInput)


def test_a_picture_is_turned_as_its_exif_says(tmp_path: Path) -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[274] = 6
    path = tmp_path / 'x.jpg'
    Image.fromarray(noise_image()).save(path, exif=exif)
    (item,) = open_inputs(path)
    assert isinstance(item, Picture)
    assert item.image.shape == (80, 60, 3)


def test_names_that_repeat_do_not_share_an_output(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ('a/x.jpg', 'b/x.jpg', 'b/x.png', 'b/y.png')]
    outputs = Images(paths).outputs
    assert len({output.with_suffix('') for output in outputs}) == 4
    assert outputs[0] == Path('a/x.jpg')
    assert outputs[3] == Path('b/y.png')


def test_a_bad_file_is_named_and_the_next_follows(tmp_path: Path) -> None:
    good = write_images(tmp_path, 1)[0]
    text, empty = tmp_path / 'text.jpg', tmp_path / 'empty.jpg'
    text.write_text('no image')
    empty.touch()
    found = list(open_inputs([text, empty, tmp_path / 'absent.jpg', good]))
    assert [type(item) for item in found] == [BadInput] * 3 + [Picture]
    assert str(found[0]) == f'{text}: is not an image'
    assert 'is empty' in str(found[1])
    assert 'No such file' in str(found[2])


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    for inputs, message in (
        (tmp_path, 'no images in folder'),
        (str(tmp_path / '*.png'), 'input not found'),
        ([], 'empty'),
        (3, 'must be a path'),
    ):
        with pytest.raises(UserError, match=message):
            open_inputs(inputs)


def test_a_video_gives_its_frames(tmp_path: Path) -> None:
    video = open_inputs(write_video(tmp_path / 'v.avi'))
    assert isinstance(video, Video)
    assert video.fps == pytest.approx(10)
    frames = list(video)
    assert [frame.index for frame in frames] == list(range(6))
    assert frames[0].image.shape == (60, 80, 3)


def test_a_video_that_ends_early_gives_what_it_has_and_says_so(tmp_path: Path) -> None:
    path = write_video(tmp_path / 'v.avi', frames=12)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    *frames, last = open_inputs(path)
    assert 0 < len(frames) < 12
    assert str(last) == f'{path}: ended after {len(frames)} of 12 frames'


def test_what_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / 'v.mp4'
    path.write_text('no video')
    with pytest.raises(UserError, match='cannot be opened as a video'):
        open_inputs(path)


def test_an_input_given_again_has_outputs_of_its_own(tmp_path: Path) -> None:
    (path,) = write_images(tmp_path, 1)
    twin = tmp_path / '0-2.png'
    twin.write_bytes(path.read_bytes())
    outputs = Images([path, path, twin, path]).outputs
    assert [str(output) for output in outputs] == ['0.png', '0-3.png', '0-2.png', '0-4.png']
