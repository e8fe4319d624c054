"""Boxes around people: given ones, those of a detector, or the whole image."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from mmengine.config import Config
from mmengine.registry import DefaultScope, init_default_scope
from mmengine.utils.dl_utils import mmcv_full_available

from hetpose import compat
from hetpose.apis.inference.inputs import Picture
from hetpose.engine.config_file import one_line
from hetpose.errors import UserError
from hetpose.ops import nms as ops

Boxes = np.ndarray  # (N, 5): x1, y1, x2, y2, score
Detector = Callable[[np.ndarray], np.ndarray]  # BGR image → boxes (N, 4) or (N, 5)
COMPILED = {  # layers of mmdet's configs that exist only in the compiled mmcv
    'CARAFEPack',
    'DCN',
    'DCNv2',
    'DeformConv2d',
    'DeformRoIPool',
    'ModulatedDeformConv2d',
    'MultiScaleDeformableAttention',
    'RoIAlign',
    'RoIPool',
    'SimpleRoIAlign',
}


def read_boxes(path: str | Path) -> Any:
    """Read a JSON file of boxes; what it may hold is said in ``BoxSource``."""
    try:
        return json.loads(Path(path).read_text(encoding='utf-8'))
    except OSError as error:
        raise UserError(f'cannot read boxes from {path}: {error.strerror}') from error
    except ValueError as error:
        raise UserError(f'boxes in {path} are not JSON: {error}') from error


class BoxSource:
    """The boxes of every image.

    Args:
        boxes: None: a detector's, else the whole image. A list of boxes [x1, y1, x2, y2] or
            [x1, y1, x2, y2, score] in pixels: these for every image. A list of such lists: one for
            every image, or frame, in order. A dict of such lists: by file name or path; for a
            video by the frame's number.
        detector: Finds boxes in an image.
        limit: At most so many boxes in an image, those with the best scores; below 0: all.
    """

    def __init__(
        self, boxes: Any = None, detector: Detector | None = None, limit: int = -1
    ) -> None:
        if boxes is not None and detector is not None:
            raise UserError('give boxes or a detector, not both')
        if not (boxes is None or isinstance(boxes, Mapping | list | tuple | np.ndarray)):
            raise UserError(f'boxes must be a list or a dict of lists, got {boxes!r}')
        if limit == 0:
            raise UserError('num_instances must be at least 1, or -1 for all')
        self.detector, self.limit = detector, limit
        self.table: Any = boxes
        self.every = _depth(boxes) == 2 if isinstance(boxes, Sequence | np.ndarray) else False

    def check_length(self, count: int) -> None:
        """One list for every input, no more and no fewer."""
        listed = isinstance(self.table, Sequence | np.ndarray) and not self.every
        if listed and len(self.table) != count:
            raise UserError(f'boxes for {len(self.table)} inputs were given, there are {count}')

    def find(self, picture: Picture) -> Boxes:
        """The boxes (N, 5) of an image; a ValueError gives the reason why they are refused."""
        boxes = self._all(picture)
        if 0 < self.limit < len(boxes):
            best = np.argsort(-boxes[:, 4], kind='stable')[: self.limit]
            return boxes[np.sort(best)]
        return boxes

    def _all(self, picture: Picture) -> Boxes:
        height, width = picture.image.shape[:2]
        if self.detector is not None:
            return _in_the_image(_five_columns(self.detector(picture.image)), width, height)
        if self.table is None:
            return np.array([[0, 0, width, height, 1]], dtype=np.float32)
        boxes = _five_columns(self._entry(picture))
        for number, box in enumerate(boxes):
            _check(number, box[:4], width, height)
        return boxes

    def _entry(self, picture: Picture) -> Any:
        if isinstance(self.table, Mapping):
            path = Path(picture.name)
            for key in (picture.name, path.name, path.stem, picture.index, str(picture.index)):
                if key in self.table:
                    return self.table[key]
            raise ValueError('no boxes were given for it')
        if self.every:
            return self.table
        if picture.index >= len(self.table):
            raise ValueError('no boxes were given for it')
        return self.table[picture.index]


def _depth(value: Any) -> int:
    """The depth of nested lists, along their first non-empty members."""
    if isinstance(value, np.ndarray):
        return value.ndim
    if not isinstance(value, Sequence) or isinstance(value, str):
        return 0
    return 1 + max((_depth(member) for member in value), default=1)


def _five_columns(boxes: Any) -> Boxes:
    """Boxes as (N, 5); the score of a box that has none is 1."""
    rows = []
    try:
        for box in boxes:
            row = np.asarray(box, dtype=np.float32)
            rows.append(np.append(row, np.float32(1)) if row.shape == (4,) else row)
    except (TypeError, ValueError) as error:
        raise ValueError('its boxes are not lists of 4 or 5 numbers') from error
    if any(row.shape != (5,) for row in rows):
        raise ValueError('its boxes are not lists of 4 or 5 numbers')
    return np.stack(rows) if rows else np.zeros((0, 5), np.float32)


def _check(number: int, box: np.ndarray, width: int, height: int) -> None:
    """Refuse a box without area or without a pixel of the image; it may reach out of it."""
    x1, y1, x2, y2 = (float(value) for value in box)
    text = f'box {number} [{x1:g}, {y1:g}, {x2:g}, {y2:g}]'
    if not np.isfinite(box).all() or x2 <= x1 or y2 <= y1:
        raise ValueError(f'{text} has no area; a box is x1, y1, x2, y2 with x1 < x2, y1 < y2')
    if x1 >= width or y1 >= height or x2 <= 0 or y2 <= 0:
        raise ValueError(f'{text} lies outside the image of {width} × {height} pixels')


def _in_the_image(boxes: Boxes, width: int, height: int) -> Boxes:
    """A detector's boxes without those that have no area or no pixel of the image."""
    if not np.isfinite(boxes).all():
        raise ValueError('the detector gives boxes that are not finite')
    x1, y1, x2, y2 = boxes[:, :4].T
    return boxes[(x1 < x2) & (y1 < y2) & (x1 < width) & (y1 < height) & (x2 > 0) & (y2 > 0)]


def mmdet_detector(
    model: str,
    weights: str | None = None,
    device: str | None = None,
    categories: Sequence[int] = (0,),
    bbox_thr: float = 0.3,
    nms_thr: float = 0.3,
) -> Detector:
    """A detector of mmdet, named by its config or model name, as a function of an image.

    On mmcv-lite its suppression of overlapping boxes runs in plain torch. A detector that needs
    another compiled operator is refused here, before any image is read.
    """
    from mmpose.evaluation.functional import nms

    compat.provide_mmcv_op('nms', ops.nms)
    compat.provide_mmcv_op('softnms', ops.mmcv_soft_nms)
    try:
        _refuse_compiled(model)
        from mmdet.apis import DetInferencer

        with _same_scope():
            inferencer = DetInferencer(model, weights, device, scope='mmdet', show_progress=False)
    except (ImportError, OSError, RuntimeError, ValueError, KeyError) as error:
        raise UserError(f'detector {model!r} cannot be built: {one_line(error)}') from error

    def detect(image: np.ndarray) -> np.ndarray:
        try:
            answer = inferencer(image, return_datasamples=True)
        except RuntimeError as error:  # a compiled operator of mmcv shows only here
            raise UserError(f'detector {model!r} cannot run: {one_line(error)}') from error
        found = answer['predictions'][0].pred_instances.cpu().numpy()
        boxes = np.concatenate([found.bboxes, found.scores[:, None]], axis=1)
        boxes = boxes[np.isin(found.labels, categories) & (found.scores > bbox_thr)]
        return boxes[nms(boxes, nms_thr)] if len(boxes) else boxes

    detect(np.zeros((64, 64, 3), np.uint8))  # what cannot run is known before the first image
    return detect


@contextmanager
def _same_scope() -> Iterator[None]:
    """Leave the default registry scope, which mmdet sets to its own, as it was."""
    before = DefaultScope.get_current_instance()
    try:
        yield
    finally:
        init_default_scope(before.scope_name if before is not None else 'mmpose')


def _refuse_compiled(model: str) -> None:
    """Refuse a config with layers that mmcv-lite lacks, before its weights are loaded."""
    if mmcv_full_available() or not Path(model).is_file():
        return
    found = sorted(set(_types(Config.fromfile(model).model.to_dict())) & COMPILED)
    if found:
        raise UserError(
            f'detector {model!r} needs {", ".join(found)} of the compiled mmcv, and mmcv-lite is '
            'installed: pip uninstall mmcv-lite && pip install mmcv==2.1.0; or take one without '
            'them, such as RTMDet or YOLOX'
        )


def _types(config: Any) -> Iterator[str]:
    """All values of ``type`` in a nested config."""
    members = config.values() if isinstance(config, Mapping) else config
    if isinstance(config, Mapping) and isinstance(config.get('type'), str):
        yield config['type'].rpartition('.')[2]
    for member in members:
        if isinstance(member, Mapping | list | tuple):
            yield from _types(member)
