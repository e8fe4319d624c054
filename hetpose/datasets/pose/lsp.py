"""Leeds Sports Pose and its extension, straight from joints.mat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mmengine.logging import print_log
from mmpose.datasets.datasets.base import BaseCocoStyleDataset
from mmpose.registry import DATASETS
from scipy.io import loadmat

from hetpose.apart import call_apart
from hetpose.datasets.pose.lsp14 import dataset_info
from hetpose.datasets.quarantine import FARTHEST
from hetpose.errors import UserError
from hetpose.paths import data_root as default_root
from hetpose.paths import existing, existing_file

BOX_MARGIN = 0.1  # around the annotated joints, as a share of their longer extent
_SPLITS = ('all', 'train', 'heldout', 'fit', 'validation')


def read_joints(path: str | Path) -> np.ndarray:
    """The matrix ``joints`` of a joints.mat file, or a UserError."""
    path = existing_file(path, 'joints.mat')
    try:
        # Apart: a damaged file can end the process that reads it.
        return call_apart(_joints, path)
    except Exception as error:  # scipy's reader raises whatever a damaged file leads it to
        reason = ' '.join(f'{type(error).__name__}: {error}'.split())
        raise UserError(f'not a joints.mat file: {path} ({reason})') from error


def _joints(path: Path) -> np.ndarray:
    return np.asarray(loadmat(path)['joints'], dtype=np.float64)


def box_around(points: np.ndarray, margin: float = BOX_MARGIN) -> np.ndarray | None:
    """x1, y1, x2, y2 (4,) around points (n, 2); None where they have no extent."""
    low, high = points.min(0), points.max(0)
    extent = float((high - low).max())
    if extent < 1:
        return None
    return np.concatenate([low - margin * extent, high + margin * extent])


def heldout_mask(count: int, share: float, seed: int) -> np.ndarray:
    """Whether each of ``count`` samples is held out, (count,) bool: a fixed draw by seed."""
    mask = np.zeros(count, bool)
    mask[np.random.default_rng(seed).permutation(count)[: round(share * count)]] = True
    return mask


class JointsMatDataset(BaseCocoStyleDataset):
    """14 joints per image from a joints.mat next to a folder of images.

    Images that are absent, annotations without a joint and boxes without an area are left out,
    and their numbers are logged.

    Args:
        data_root (str | None): Folder with ``joints.mat`` and ``images``; by default
            ``$HETPOSE_DATA/<name>`` or ``data/<name>``.
        split (str): 'all', or one side of a random split by ``split_seed``: 'train', 'heldout'.
            'train' has two parts, 'fit' and 'validation', so that what is chosen by validation is
            chosen without the held-out samples.
        heldout (float): Share of the samples that is held out.
        validation (float): Share of all samples that 'validation' has.
        split_seed (int): Seed of that draw; it does not depend on which images are present.
        pipeline, indices, test_mode, metainfo, lazy_init: as in mmpose.
    """

    NAME = ''
    IMAGE = ''  # file name of image number n
    margin = BOX_MARGIN

    def __init__(
        self,
        data_root: str | Path | None = None,
        split: str = 'all',
        heldout: float = 0.1,
        validation: float = 0.1,
        split_seed: int = 0,
        pipeline: Sequence[dict | Callable] = (),
        indices: int | Sequence[int] | None = None,
        test_mode: bool = False,
        metainfo: dict | None = None,
        lazy_init: bool = False,
        max_refetch: int = 1000,
    ) -> None:
        if split not in self.splits():
            raise ValueError(f'split must be one of {self.splits()}, got {split!r}')
        if not 0 < heldout < 1:
            raise ValueError(f'heldout must lie between 0 and 1, got {heldout}')
        if not 0 < validation < 1 - heldout:
            raise ValueError(f'validation must lie between 0 and {1 - heldout}, got {validation}')
        self.split, self.split_seed = split, split_seed
        self.heldout, self.validation = heldout, validation
        super().__init__(
            ann_file='joints.mat',
            data_root=str(default_root(self.NAME, data_root)),
            data_prefix=dict(img='images'),
            pipeline=list(pipeline),
            indices=indices,
            test_mode=test_mode,
            metainfo=metainfo,
            lazy_init=lazy_init,
            max_refetch=max_refetch,
        )

    @classmethod
    def splits(cls) -> tuple[str, ...]:
        """The names of the splits."""
        return _SPLITS

    def annotations(self) -> tuple[np.ndarray, np.ndarray]:
        """Joints (N, 14, 2) and whether each is annotated (N, 14)."""
        raise NotImplementedError

    def in_split(self, count: int) -> np.ndarray:
        """Whether each sample belongs to the chosen split, (count,)."""
        if self.split == 'all':
            return np.ones(count, bool)
        held = heldout_mask(count, self.heldout, self.split_seed)
        kept = heldout_mask(count, self.heldout + self.validation, self.split_seed)
        parts = dict(heldout=held, train=~held, validation=kept & ~held, fit=~kept)
        return parts[self.split]

    def load_data_list(self) -> list[dict[str, Any]]:
        """One record per usable annotation."""
        joints, annotated = self.annotations()
        folder = existing(self.data_prefix['img'], f'{self.NAME} images')
        present = {path.name for path in folder.iterdir()}
        records, absent, empty, damaged = [], 0, 0, 0
        for row in np.flatnonzero(self.in_split(len(joints))):
            name = self.IMAGE.format(row + 1)
            if name not in present:
                absent += 1
                continue
            visible = annotated[row]
            if (np.abs(joints[row, visible]) > FARTHEST).any():
                damaged += 1
                continue
            box = box_around(joints[row, visible], self.margin) if visible.any() else None
            if box is None:
                empty += 1
                continue
            records.append(self._record(int(row) + 1, folder / name, joints[row], visible, box))
        print_log(
            f'{self.NAME}: {len(records)} samples ({self.split}); left out: {absent} whose image '
            f'is absent, {empty} without annotated joints or with a box of no area, {damaged} '
            f'with a joint more than {FARTHEST:g} pixels away',
            logger='current',
        )
        if not records:
            raise UserError(f'{self.NAME}: no usable sample in {self.data_root}')
        return records

    @staticmethod
    def _record(
        number: int, path: Path, joints: np.ndarray, visible: np.ndarray, box: np.ndarray
    ) -> dict[str, Any]:
        # Coordinates of a joint that is not annotated mean nothing; zero keeps them harmless.
        keypoints = np.where(visible[:, None], joints, 0.0)
        return dict(
            id=number,
            img_id=number,
            img_path=str(path),
            bbox=box.astype(np.float32)[None],
            bbox_score=np.ones(1, np.float32),
            keypoints=keypoints.astype(np.float32)[None],
            keypoints_visible=visible.astype(np.float32)[None],
            area=np.array([np.prod(box[2:] - box[:2])], np.float32),
            category_id=1,
        )


@DATASETS.register_module()
class LSPETDataset(JointsMatDataset):
    """Leeds Sports Pose Extended: 10,000 images, joints.mat 14 x 3 x 10000 (x, y, annotated)."""

    METAINFO: dict = {**dataset_info, 'dataset_name': 'lspet'}
    NAME = 'lspet'
    IMAGE = 'im{:05d}.jpg'

    def annotations(self) -> tuple[np.ndarray, np.ndarray]:
        """Joints (N, 14, 2) and whether each is annotated (N, 14)."""
        joints = read_joints(self.ann_file)
        if joints.ndim != 3 or joints.shape[:2] != (14, 3):
            raise UserError(f'{self.ann_file}: expected 14 x 3 x N joints, got {joints.shape}')
        joints = joints.transpose(2, 0, 1)
        return joints[..., :2], (joints[..., 2] > 0.5) & np.isfinite(joints).all(-1)


@DATASETS.register_module()
class LSPDataset(JointsMatDataset):
    """Leeds Sports Pose: 2,000 images, joints.mat 3 x 14 x 2000 (x, y, occluded).

    The third row, called visibility in the published README, is 1 where a joint is OCCLUDED.
    Occluded joints are located all the same, so every joint counts as annotated.

    Args: those of JointsMatDataset; ``split`` may also be 'first' or 'second', the halves that the
    authors train and test on.
    """

    METAINFO: dict = {**dataset_info, 'dataset_name': 'lsp'}
    NAME = 'lsp'
    IMAGE = 'im{:04d}.jpg'

    @classmethod
    def splits(cls) -> tuple[str, ...]:
        """The names of the splits."""
        return (*_SPLITS, 'first', 'second')

    def in_split(self, count: int) -> np.ndarray:
        """Whether each sample belongs to the chosen split, (count,)."""
        if self.split in ('first', 'second'):
            return (np.arange(count) < count // 2) == (self.split == 'first')
        return super().in_split(count)

    def annotations(self) -> tuple[np.ndarray, np.ndarray]:
        """Joints (N, 14, 2) and whether each is annotated (N, 14)."""
        joints = read_joints(self.ann_file)
        if joints.ndim != 3 or joints.shape[:2] != (3, 14):
            raise UserError(f'{self.ann_file}: expected 3 x 14 x N joints, got {joints.shape}')
        joints = joints.transpose(2, 1, 0)
        return joints[..., :2], np.isfinite(joints[..., :2]).all(-1)
