"""The interface of xtcocotools on pycocotools, for mmpose.

mmpose 1.3.2 reads and judges COCO files with xtcocotools, a fork of pycocotools for more kinds of
keypoints that has no wheel for Python 3.12 or numpy 2. Every one of its kinds is pycocotools' own
evaluation of other annotations, so this module translates the annotations: a part of the body
takes the place of ``keypoints``, its score that of ``score``, and a share of the box that of
``area``.
"""

from __future__ import annotations

import contextlib
import io
import json
import types
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from pycocotools import coco, cocoeval, mask

# By kind of evaluation: the fields whose keypoints are joined, and the field of the score.
PARTS = {
    'keypoints': (('keypoints',), 'score'),
    'keypoints_crowd': (('keypoints',), 'score'),
    'keypoints_wholebody': (
        ('keypoints', 'foot_kpts', 'face_kpts', 'lefthand_kpts', 'righthand_kpts'),
        'wholebody_score',
    ),
    'keypoints_body': (('keypoints',), 'score'),
    'keypoints_foot': (('foot_kpts',), 'foot_score'),
    'keypoints_face': (('face_kpts',), 'face_score'),
    'keypoints_lefthand': (('lefthand_kpts',), 'lefthand_score'),
    'keypoints_righthand': (('righthand_kpts',), 'righthand_score'),
}
BOX_SHARE = 0.53  # of a person's box, taken for the area where a data set has none
CROWDED = (0.2, 0.8)  # CrowdPose: an image's crowd index up to which it is easy, then medium


class COCO(coco.COCO):
    """Annotations, which may lack ``iscrowd``, and results, of which there may be none."""

    def createIndex(self) -> None:
        for annotation in self.dataset.get('annotations', []):
            annotation.setdefault('iscrowd', False)
        super().createIndex()

    def loadRes(self, resFile: Any) -> coco.COCO:
        if isinstance(resFile, str):
            resFile = json.loads(Path(resFile).read_text(encoding='utf-8'))
        if len(resFile):
            return super().loadRes(resFile)
        results = COCO()
        results.dataset = dict(images=list(self.dataset['images']), annotations=[])
        results.createIndex()
        return results


class COCOeval(cocoeval.COCOeval):
    """Object keypoint similarity of a kind of keypoints.

    Args:
        cocoGt: The annotations.
        cocoDt: The results.
        iouType: A kind of keypoints in ``PARTS``, ``'bbox'`` or ``'segm'``.
        sigmas: Labelling deviations of the joints, (K,); None: those of COCO's 17.
        use_area: Whether annotations have an ``area``; else it is taken from their box.
    """

    def __init__(
        self,
        cocoGt: Any = None,
        cocoDt: Any = None,
        iouType: str = 'keypoints',
        sigmas: Any = None,
        use_area: bool = True,
    ) -> None:
        super().__init__(cocoGt, cocoDt, 'keypoints' if iouType in PARTS else iouType)
        self.kind = iouType
        self.use_area = use_area
        if sigmas is not None:
            self.params.kpt_oks_sigmas = np.asarray(sigmas)

    def _prepare(self) -> None:
        if self.kind not in PARTS:
            super()._prepare()
            return
        categories = self.params.catIds if self.params.useCats else []
        self._gts: dict[tuple[int, int], list[dict]] = defaultdict(list)
        self._dts: dict[tuple[int, int], list[dict]] = defaultdict(list)
        for source, target, translate in (
            (self.cocoGt, self._gts, self._truth),
            (self.cocoDt, self._dts, self._result),
        ):
            chosen = source.getAnnIds(imgIds=self.params.imgIds, catIds=categories)
            # An id counts from 1, because pycocotools takes 0 for "not matched".
            for number, annotation in enumerate(source.loadAnns(chosen), start=1):
                translated = translate(annotation)
                if translated is not None:
                    key = annotation['image_id'], annotation['category_id']
                    target[key].append(dict(translated, id=number))
        self.evalImgs: Any = defaultdict(list)
        self.eval: dict[str, Any] = {}

    def _joined(self, annotation: dict[str, Any]) -> tuple[list[float], int]:
        """The keypoints of the kind, flat (3K,), and how many of them are labelled or found."""
        joined = [value for field in PARTS[self.kind][0] for value in annotation[field]]
        return joined, int(np.count_nonzero(np.asarray(joined[2::3]) > 0))

    def _truth(self, annotation: dict[str, Any]) -> dict[str, Any]:
        keypoints, count = self._joined(annotation)
        if self.kind == 'keypoints_crowd':
            count = annotation['num_keypoints']  # CrowdPose counts those that are not occluded
        area = annotation.get('area')
        if area is None or not self.use_area:
            area = annotation['bbox'][2] * annotation['bbox'][3] * BOX_SHARE
        return dict(
            annotation,
            keypoints=keypoints,
            area=area,
            ignore=count == 0 or bool(annotation.get('iscrowd')),
        )

    def _result(self, annotation: dict[str, Any]) -> dict[str, Any] | None:
        keypoints, count = self._joined(annotation)
        if count == 0:
            return None
        score = annotation.get(PARTS[self.kind][1], annotation['score'])
        return dict(annotation, keypoints=keypoints, score=score)

    def summarize(self) -> None:
        super().summarize()
        if self.kind == 'keypoints_crowd':
            # AP, AP50, AP75, AR, AR50, AR75, then AP of easy, medium and hard images
            overall: np.ndarray = self.stats  # type: ignore[has-type]
            self.stats = np.array([*overall[[0, 1, 2, 5, 6, 7]], *self._by_crowding()])

    def _by_crowding(self) -> list[float]:
        """AP of the images of each crowding, to 4 decimals."""
        images = self.params.imgIds
        index = [(image['id'], image['crowdIndex']) for image in self.cocoGt.dataset['images']]
        precisions = []
        for low, high in ((-np.inf, CROWDED[0]), CROWDED, (CROWDED[1], np.inf)):
            self.params.imgIds = [name for name, crowding in index if low <= crowding < high]
            with contextlib.redirect_stdout(io.StringIO()):
                self.evaluate()
                self.accumulate()
            precisions.append(round(float(np.mean(self.eval['precision'][:, :, :, 0, :])), 4))
        self.params.imgIds = images
        return precisions


def modules() -> dict[str, types.ModuleType]:
    """The modules of xtcocotools by name, with this module's classes in them."""
    package = types.ModuleType('xtcocotools', __doc__)
    package.__path__ = []
    found = {'xtcocotools': package, 'xtcocotools.mask': mask}
    for name, part in (('coco', COCO), ('cocoeval', COCOeval)):
        module = types.ModuleType(f'xtcocotools.{name}', __doc__)
        setattr(module, part.__name__, part)
        found[module.__name__] = module
    for name in ('coco', 'cocoeval', 'mask'):
        setattr(package, name, found[f'xtcocotools.{name}'])
    return found
