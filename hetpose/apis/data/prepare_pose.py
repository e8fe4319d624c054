"""The folders of the pose data: what belongs there, what is missing, where it comes from."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from hetpose.apart import call_apart
from hetpose.apis.data.archives import check_recorded, extract_archive, record_checksum
from hetpose.download import download as fetch
from hetpose.errors import UserError, unknown_name
from hetpose.fileio import write_text
from hetpose.paths import data_root

_MPII_JOINTS = 16


@dataclass(frozen=True)
class Part:
    """One piece of a data set: its path below the data set's folder and the archive it is in.

    ``pattern`` is what a folder must hold and ``count`` how often when it is whole.
    """

    path: str
    url: str
    pattern: str = ''
    count: int = 1

    def found(self, root: Path) -> int:
        """The number of its files that are there."""
        place = root / self.path
        if not self.pattern:
            return int(place.is_file())
        return sum(1 for _ in place.glob(self.pattern)) if place.is_dir() else 0


_JOHNSON = 'http://sam.johnson.io/research'
_MPII = 'https://datasets.d2.mpi-inf.mpg.de/andriluka14cvpr/mpii_human_pose_v1.tar.gz'
_MPII_JSON = 'https://download.openmmlab.com/mmpose/datasets/mpii_annotations.tar'
_COCO = 'http://images.cocodataset.org'
_COCO_JSON = f'{_COCO}/annotations/annotations_trainval2017.zip'
LAYOUT: dict[str, tuple[Part, ...]] = {
    'lsp': (
        Part('joints.mat', f'{_JOHNSON}/lsp_dataset.zip'),
        Part('images', f'{_JOHNSON}/lsp_dataset.zip', 'im*.jpg', 2000),
    ),
    'lspet': (
        Part('joints.mat', f'{_JOHNSON}/lspet_dataset.zip'),
        Part('images', f'{_JOHNSON}/lspet_dataset.zip', 'im*.jpg', 10000),
    ),
    'mpii': (
        Part('annotations/mpii_train.json', _MPII_JSON),
        Part('annotations/mpii_val.json', _MPII_JSON),
        Part('images', _MPII, '*.jpg', 24984),
    ),
    'coco': (
        Part('annotations/person_keypoints_train2017.json', _COCO_JSON),
        Part('annotations/person_keypoints_val2017.json', _COCO_JSON),
        Part('train2017', f'{_COCO}/zips/train2017.zip', '*.jpg', 118287),
        Part('val2017', f'{_COCO}/zips/val2017.zip', '*.jpg', 5000),
    ),
}


def check_names(names: list[str]) -> list[str]:
    """The names, or all where there are none; a UserError for an unknown one."""
    for name in names:
        if name not in LAYOUT:
            raise unknown_name('pose data set', name, list(LAYOUT))
    return names or list(LAYOUT)


def missing(name: str, root: Path) -> list[Part]:
    """The parts of a data set that are not there at all."""
    return [part for part in LAYOUT[name] if not part.found(root)]


def report(name: str, root: Path) -> Iterator[str]:
    """One line per part: what is there, what is not, and where that comes from."""
    for part in LAYOUT[name]:
        place, found = root / part.path, part.found(root)
        if not found:
            yield f'missing   {place}  (from {part.url})'
        elif found < part.count:
            yield f'partial   {place}  ({found} of {part.count} files; absent images are left out)'
        else:
            yield f'present   {place}'


def download(name: str, root: Path) -> None:
    """Fetch and unpack the archives of the missing parts; they stay in ``root/archive``."""
    for url in dict.fromkeys(part.url for part in missing(name, root)):
        package = root / 'archive' / url.rsplit('/', 1)[1]
        if not package.is_file():
            fetch(url, package)
        check_recorded(package)
        wanted = [part for part in LAYOUT[name] if part.url == url]
        unpack(package, root, wanted)
        record_checksum(package)


def unpack(package: Path, root: Path, parts: list[Part]) -> None:
    """Unpack an archive and move its parts to their places, wherever the archive has them."""
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix='.unpack-') as scratch:
        extract_archive(package, scratch)
        for part in parts:
            target = root / part.path
            if part.found(root):
                continue
            inside = sorted(Path(scratch).rglob(target.name), key=lambda path: len(path.parts))
            if not inside:
                raise UserError(f'{package} holds no {target.name}')
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_dir():
                target.rmdir()  # it is empty, or the part would have been found
            shutil.move(inside[0], target)


def _records(value: Any) -> list[Any]:
    """A MATLAB struct array as a list; scipy gives one struct bare, and none as an array."""
    return [item for item in np.atleast_1d(value).ravel() if hasattr(item, '_fieldnames')]


def _person(image: str, rect: Any) -> dict[str, Any] | None:
    """One annotated person in the format of mmpose's MPII files; None without joints or box."""
    points = _records(getattr(getattr(rect, 'annopoints', None), 'point', None))
    place = _records(getattr(rect, 'objpos', None))
    if not points or not place or not np.size(getattr(rect, 'scale', ())):
        return None
    joints, annotated = np.full((_MPII_JOINTS, 2), -1.0), np.zeros(_MPII_JOINTS, int)
    for point in points:
        joints[int(point.id)] = (point.x, point.y)
        annotated[int(point.id)] = 1
    return dict(
        joints_vis=annotated.tolist(),
        joints=joints.tolist(),
        image=image,
        scale=float(rect.scale),
        center=[float(place[0].x), float(place[0].y)],
    )


def convert_mpii(mat: str | Path, out: str | Path) -> int:
    """Turn MPII's own annotation .mat into mmpose's JSON of its training images; persons written.

    The published division of these images into train and val is not in the .mat: the file holds
    both, as mmpose's mpii_trainval.json does.
    """
    try:
        people = call_apart(_mpii_people, mat)  # a damaged file can end the process that reads it
    except Exception as error:  # scipy's reader raises whatever a damaged file leads it to
        reason = ' '.join(f'{type(error).__name__}: {error}'.split())
        raise UserError(f'not an MPII annotation file: {mat} ({reason})') from error
    write_text(out, json.dumps(people))
    return len(people)


def _mpii_people(mat: str | Path) -> list[dict[str, Any]]:
    """The people of the training images."""
    release = loadmat(mat, struct_as_record=False, squeeze_me=True)['RELEASE']
    training = np.atleast_1d(release.img_train)
    people = []
    for entry, is_training in zip(np.atleast_1d(release.annolist), training, strict=True):
        if is_training:
            found = (_person(str(entry.image.name), rect) for rect in _records(entry.annorect))
            people += [person for person in found if person is not None]
    return people


def prepare_pose_sets(
    names: list[str],
    parent: Path | None = None,
    get_missing: bool = False,
    mpii_mat: Path | None = None,
) -> dict[str, list[str]]:
    """Convert, download and look for data sets; for each the lines of its report.

    Args:
        names: Data sets; none: all.
        parent: The folder that holds a folder for each; None: where ``paths.data_root`` points.
        get_missing: Download what is missing.
        mpii_mat: MPII's own annotation file, from which mpii_train.json is written.
    """
    reports = {}
    for name in check_names(names):
        root = parent / name if parent else data_root(name)
        lines = []
        if name == 'mpii' and mpii_mat is not None:
            out = root / 'annotations' / 'mpii_train.json'
            lines.append(f'{out}: {convert_mpii(mpii_mat, out)} persons')
        if get_missing:
            download(name, root)
        reports[name] = [*lines, *report(name, root)]
    return reports
