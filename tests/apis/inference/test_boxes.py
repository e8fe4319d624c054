"""Boxes: for every image, for each, by name, or found."""

import sys
import types
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from helpers_inference import noise_image
from mmengine.registry import DefaultScope
from mmengine.utils.dl_utils import mmcv_full_available

from hetpose.apis.inference.boxes import BoxSource, mmdet_detector, read_boxes
from hetpose.apis.inference.inputs import Picture
from hetpose.errors import UserError

BOX = [10, 5, 60, 50]


def picture(index: int = 0, name: str = 'folder/x.jpg') -> Picture:
    return Picture(index, name, Path(name), noise_image(60, 80))


def test_without_boxes_the_whole_image() -> None:
    np.testing.assert_array_equal(BoxSource().find(picture()), [[0, 0, 80, 60, 1]])


@pytest.mark.parametrize(
    'boxes',
    [
        [BOX],
        [[[1, 2, 3, 4]], [BOX]],
        [[], [BOX]],
        {'x.jpg': [BOX]},
        {'folder/x.jpg': [BOX]},
        {'x': [BOX]},
        {'1': [BOX]},
        {1: [BOX]},
        np.array([BOX]),
        np.array([[BOX], [BOX]]),
    ],
)
def test_the_forms_that_boxes_may_have(boxes: object) -> None:
    np.testing.assert_array_equal(BoxSource(boxes).find(picture(1)), [[*BOX, 1]])


def test_scores_are_kept_and_no_box_means_nobody() -> None:
    np.testing.assert_allclose(BoxSource([[*BOX, 0.5]]).find(picture()), [[*BOX, 0.5]])
    assert BoxSource([[]]).find(picture()).shape == (0, 5)
    assert BoxSource([]).find(picture()).shape == (0, 5)


def test_a_box_may_reach_out_of_the_image() -> None:
    box = [-30, -20, 200, 100]
    np.testing.assert_array_equal(BoxSource([box]).find(picture()), [[*box, 1]])


@pytest.mark.parametrize(
    ('boxes', 'message'),
    [
        ([BOX, [90, 0, 120, 30]], r'box 1 \[90, 0, 120, 30\] lies outside the image of 80 × 60'),
        ([[0, -30, 20, -1]], 'lies outside'),
        ([[30, 10, 10, 40]], 'has no area'),
        ([[0, 0, 10, float('nan')]], 'has no area'),
        ([[0, 0, 10]], '4 or 5 numbers'),
        ([BOX, [0, 0, 10]], '4 or 5 numbers'),
        ([['a', 0, 10, 3]], '4 or 5 numbers'),
        ({'y.jpg': [BOX]}, 'no boxes were given'),
    ],
)
def test_bad_boxes_are_named(boxes: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BoxSource(boxes).find(picture())


def test_as_many_lists_as_images() -> None:
    with pytest.raises(UserError, match='boxes for 2 inputs were given, there are 3'):
        BoxSource([[BOX], [BOX]]).check_length(3)
    BoxSource([BOX]).check_length(3)


def test_a_detector_is_asked_when_named() -> None:
    source = BoxSource(detector=lambda image: np.array([[0, 0, image.shape[1], 20]]))
    np.testing.assert_array_equal(source.find(picture()), [[0, 0, 80, 20, 1]])
    with pytest.raises(UserError, match='not both'):
        BoxSource([BOX], lambda image: image)


def test_files_of_boxes(tmp_path: Path) -> None:
    path = tmp_path / 'boxes.json'
    path.write_text('[[1, 2, 3, 4]]')
    assert read_boxes(path) == [[1, 2, 3, 4]]
    path.write_text('[[1, 2')
    with pytest.raises(UserError, match='not JSON'):
        read_boxes(path)
    with pytest.raises(UserError, match='cannot read boxes'):
        read_boxes(tmp_path / 'absent.json')


def test_a_detector_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(image: np.ndarray, **_: object) -> None:
        raise RuntimeError('nms_impl: implementation for device cpu\nnot found.')

    module = types.ModuleType('mmdet.apis')
    module.DetInferencer = lambda *_, **__: fail
    monkeypatch.setitem(sys.modules, 'mmdet', types.ModuleType('mmdet'))
    monkeypatch.setitem(sys.modules, 'mmdet.apis', module)
    with pytest.raises(UserError, match="detector 'rtmdet' cannot run: nms_impl.* cpu not found"):
        BoxSource(detector=mmdet_detector('rtmdet')).find(picture())


def test_a_frame_beyond_the_lists_has_no_boxes() -> None:
    with pytest.raises(ValueError, match='no boxes were given for it'):
        BoxSource([[BOX], [BOX]]).find(picture(2))


def test_what_is_no_list_is_refused() -> None:
    with pytest.raises(UserError, match='boxes must be a list or a dict of lists, got 5'):
        BoxSource(5)


def test_a_detector_may_find_what_is_no_box() -> None:
    found = [[10, 5, 10, 50, 0.9], [20, 30, 15, 40, 0.8], [90, 0, 99, 9, 0.7], [*BOX, 0.6]]
    source = BoxSource(detector=lambda image: np.array(found))
    np.testing.assert_allclose(source.find(picture()), [[*BOX, 0.6]])
    broken = BoxSource(detector=lambda image: np.array([[np.nan, 5, 10, 50, 0.9]]))
    with pytest.raises(ValueError, match='not finite'):
        broken.find(picture())


def test_the_best_boxes_in_their_order() -> None:
    boxes = [[*BOX, 0.5], [*BOX, 0.9], [*BOX, 0.7], [*BOX, 0.1]]
    assert BoxSource(boxes, limit=2).find(picture())[:, 4].tolist() == pytest.approx([0.9, 0.7])
    assert len(BoxSource(boxes, limit=-1).find(picture())) == 4
    with pytest.raises(UserError, match='num_instances'):
        BoxSource(boxes, limit=0)


def mmdet_config(name: str) -> str:
    """A config that mmdet's own package holds."""
    return str(Path(find_spec('mmdet').origin).parent / '.mim' / 'configs' / name)


def test_a_detector_of_mmdet_runs_on_mmcv_lite(tmp_path: Path) -> None:
    """Untrained, it finds something everywhere; what it suppresses it suppresses without mmcv."""
    config = tmp_path / 'rtmdet.py'
    base = mmdet_config('rtmdet/rtmdet_tiny_8xb32-300e_coco.py')
    config.write_text(f"_base_ = ['{base}']\nmodel = dict(test_cfg=dict(nms_pre=50))\n")
    detect = mmdet_detector(
        str(config),
        device='cpu',
        categories=range(80),
        bbox_thr=0.0,
        nms_thr=0.99,
    )
    boxes = detect(noise_image(60, 80))
    assert boxes.shape[1] == 5
    assert len(boxes)
    # Pose models that are built afterwards are still looked for in mmpose.
    assert DefaultScope.get_current_instance().scope_name == 'mmpose'


def test_a_detector_that_needs_compiled_layers_is_refused_at_once() -> None:
    if mmcv_full_available():
        pytest.skip('the compiled mmcv is installed')
    with pytest.raises(UserError, match='needs RoIAlign of the compiled mmcv.*pip install mmcv'):
        mmdet_detector(mmdet_config('faster_rcnn/faster-rcnn_r50_fpn_1x_coco.py'), 'absent.pth')
