"""Images of noise with bright joints, labelled in the format of any of mmpose's data sets.

Axes: N people, K joints.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from mmengine.config import ConfigDict
from scipy.io import savemat

from hetpose.apis.fit.foreign import dataset_joints
from hetpose.fileio import write_json

WIDTH, HEIGHT, PEOPLE = 320, 160, 4  # of an image
LABELLED = 0.9  # share of the joints
BODY, FOOT, FACE, HAND = 17, 6, 68, 21  # joints of the parts of COCO-WholeBody
UNIT = 200.0  # of the scale in the files of MPII and WFLW

Annotation = dict[str, Any]


def write_labelled(dataset: ConfigDict, root: Path, people: int, seed: int = 0) -> None:
    """Write what a data set's config names, under another ``data_root``.

    The places of the annotation file and of the images are the config's own.
    """
    rng = np.random.default_rng(seed)
    folder = root / dataset.get('data_prefix', {}).get('img', '')
    folder.mkdir(parents=True, exist_ok=True)
    joints = len(dataset_joints(dataset))
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number in range(-(-people // PEOPLE)):
        name = f'{number:06d}.png'
        points = _figures(rng, joints)
        _draw(rng, points, folder / name)
        images.append(dict(id=number, file_name=name, width=WIDTH, height=HEIGHT))
        for figure in points:
            seen = rng.random(joints) < LABELLED
            seen[:2] = True
            annotations.append(_annotation(len(annotations), number, name, figure, seen))
    path = root / dataset['ann_file']
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = _FILES.get(dataset['type'], _write_coco)
    writer(path, dataset, images, annotations)


def _figures(rng: np.random.Generator, joints: int) -> np.ndarray:
    """Joints (PEOPLE, K, 2) of people who stand side by side."""
    wide = WIDTH / PEOPLE
    low = np.stack([np.arange(PEOPLE) * wide + 6, np.full(PEOPLE, 8)], axis=-1)
    extent = rng.uniform((0.6 * wide, 0.5 * HEIGHT), (wide - 12, HEIGHT - 16), (PEOPLE, 2))
    return low[:, None] + rng.random((PEOPLE, joints, 2)) * extent[:, None]


def _draw(rng: np.random.Generator, points: np.ndarray, path: Path) -> None:
    picture = rng.integers(0, 90, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    for x, y in points.reshape(-1, 2):
        cv2.circle(picture, (int(x), int(y)), 2, (255, 255, 255), -1)
    cv2.imwrite(str(path), picture)


def _annotation(
    number: int, image: int, name: str, points: np.ndarray, seen: np.ndarray
) -> Annotation:
    low, extent = points.min(0) - 4, np.ptp(points, axis=0) + 8
    triples = np.column_stack([np.where(seen[:, None], points, 0), np.where(seen, 2, 0)])
    return dict(
        id=number,
        image_id=image,
        image=name,
        category_id=1,
        bbox=[*low.tolist(), *extent.tolist()],
        area=float(extent.prod()),
        center=(low + extent / 2).tolist(),
        scale=float(extent.max() / UNIT),
        segmentation=[],
        iscrowd=0,
        num_keypoints=int(seen.sum()),
        keypoints=triples.ravel().tolist(),
    )


def _write_coco(
    path: Path, dataset: ConfigDict, images: list[dict], annotations: list[Annotation]
) -> None:
    names, change = dataset_joints(dataset), _FIELDS.get(dataset['type'])
    if change is not None:  # COCO-WholeBody names the joints of the body only
        annotations = [change(annotation) for annotation in annotations]
        names = dataset_joints(ConfigDict(type='CocoDataset'))
    category = dict(id=1, name='figure', keypoints=names, skeleton=[])
    write_json(path, dict(images=images, annotations=annotations, categories=[category]))


def _write_mpii(
    path: Path, dataset: ConfigDict, images: list[dict], annotations: list[Annotation]
) -> None:
    """A list of people, counted from pixel 1, and the boxes of their heads."""
    people = []
    for annotation in annotations:
        triples = np.reshape(annotation['keypoints'], (-1, 3))
        people.append(
            dict(
                image=annotation['image'],
                center=[value + 1 for value in annotation['center']],
                scale=annotation['scale'],
                joints=(triples[:, :2] + 1).tolist(),
                joints_vis=(triples[:, 2] > 0).astype(int).tolist(),
            )
        )
    write_json(path, people)
    boxes = np.tile(np.array([[0.0, 0.0], [20.0, 20.0]])[..., None], len(people))
    gaps = np.zeros((len(dataset_joints(dataset)), len(people)))
    savemat(
        str(path.parent / Path(dataset['headbox_file']).name),
        dict(headboxes_src=boxes, jnt_missing=gaps),
    )


def _whole_body(annotation: Annotation) -> Annotation:
    triples = annotation['keypoints']
    edges = 3 * np.cumsum([BODY, FOOT, FACE, HAND])
    names = ('keypoints', 'foot_kpts', 'face_kpts', 'lefthand_kpts', 'righthand_kpts')
    parts = np.split(triples, edges)
    valid = {f'{part}_valid': True for part in ('foot', 'face', 'lefthand', 'righthand')}
    named = {name: part.tolist() for name, part in zip(names, parts, strict=True)}
    return {**annotation, **named, **valid}


def _face(annotation: Annotation) -> Annotation:
    part = dict(face_kpts=annotation['keypoints'], face_box=annotation['bbox'], face_valid=True)
    return {**annotation, **part, 'keypoints': [0] * 3 * BODY}


def _hand(annotation: Annotation) -> Annotation:
    left = dict(
        lefthand_kpts=annotation['keypoints'],
        lefthand_box=annotation['bbox'],
        lefthand_valid=True,
        righthand_valid=False,
    )
    return {**annotation, **left, 'keypoints': [0] * 3 * BODY}


_FIELDS: dict[str, Callable[[Annotation], Annotation]] = {
    'CocoWholeBodyDataset': _whole_body,
    'CocoWholeBodyFaceDataset': _face,
    'CocoWholeBodyHandDataset': _hand,
}
_FILES = {'MpiiDataset': _write_mpii}
