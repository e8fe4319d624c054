"""Samples whose network input is not an image but the maps of a frozen backbone.

A folder holds, for every view (one augmentation of every sample of a data set):

- ``000.npy`` (N, w, n) float16: packed maps; w = 2 where the mirror image's follow
- ``000.npz``: ids (N,), keypoints (N, K, 2) in image pixels and transformed_keypoints in input
  pixels, both as the augmentation left them, keypoints_visible (N, K), input_center, input_scale,
  input_size (N, 2), and factor_maps (N, 2K, 2K), the linear map that takes a factor of Σ̃ from the
  image to the augmented input
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from mmpose.registry import DATASETS

from hetpose.datasets.pose.pseudo_label_file import sample_id
from hetpose.datasets.pose.wrappers import PseudoLabelDataset
from hetpose.errors import UserError

FIELDS = (
    'keypoints',
    'transformed_keypoints',
    'keypoints_visible',
    'input_center',
    'input_scale',
    'input_size',
)
INSTANCE_FIELDS = FIELDS[:3]  # with a leading axis of one instance in a pipeline


def view_files(folder: str | Path, view: int) -> tuple[Path, Path]:
    """The files of a view: its maps and its labels."""
    return Path(folder) / f'{view:03d}.npy', Path(folder) / f'{view:03d}.npz'


@DATASETS.register_module()
class FeatureViewDataset(PseudoLabelDataset):
    """The views of a folder one after the other, with the labels of the data set they are of.

    The pipeline only has to generate targets and pack: the rest was done when the views were
    written by ``tools/feature_views.py``.

    Args:
        folder (str): Where the views are.
        views (int): How many of them to read.
        dataset, file, recipe, pipeline: as in PseudoLabelDataset.
    """

    def __init__(self, folder: str | Path, views: int = 1, **kwargs: Any) -> None:
        self.maps, self.records = [], []
        for view in range(views):
            maps, labels = view_files(folder, view)
            if not (maps.is_file() and labels.is_file()):
                raise UserError(
                    f'view {view} is not in {folder}: write it with tools/feature_views.py'
                )
            self.maps.append(np.load(maps, mmap_mode='r'))
            with np.load(labels, allow_pickle=False) as archive:
                self.records.append({name: archive[name] for name in archive.files})
        super().__init__(**kwargs)
        self._check_samples(folder)

    def _check_samples(self, folder: str | Path) -> None:
        for records in self.records:
            if len(records['ids']) != len(self.dataset):
                raise UserError(
                    f'{folder} has views of {len(records["ids"])} samples, the data set has '
                    f'{len(self.dataset)}'
                )

    def __len__(self) -> int:
        return len(self.maps) * len(self.dataset)

    def get_data_info(self, idx: int) -> dict[str, Any]:
        """One view of one sample, as a pipeline leaves it after its spatial transforms."""
        view, row = divmod(idx, len(self.dataset))
        info = super().get_data_info(row)
        records = self.records[view]
        if str(records['ids'][row]) != sample_id(info):
            raise UserError(
                f'view {view} is of other data: sample {row} is {records["ids"][row]} there and '
                f'{sample_id(info)} here'
            )
        for name in FIELDS:
            value = records[name][row]
            info[name] = value[None] if name in INSTANCE_FIELDS else value
        factor = info.pop('pseudo_factor', None)
        if factor is not None:
            info['transformed_pseudo_factor'] = records['factor_maps'][row] @ factor
            info['pseudo_factor'] = factor  # shows that the sample has one
        info['img'] = np.array(self.maps[view][row])[None]  # (1, w, n): height, width, channels
        return info
