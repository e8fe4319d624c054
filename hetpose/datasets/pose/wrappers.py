"""Data sets around data sets: pseudo-labels for any of mmpose's, and a merge of equal joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mmengine.dataset import BaseDataset
from mmpose.datasets import CombinedDataset
from mmpose.registry import DATASETS

from hetpose.datasets.pose.pseudo_label_file import PseudoLabelFile, PseudoLabelRecipe
from hetpose.datasets.transforms.covariance import attach_factor
from hetpose.datasets.transforms.guard import check_pipeline
from hetpose.errors import UserError

_CHECKED_SAMPLES = 64  # looked up when the data set is built; every sample is when it is fetched


def supplies_covariance(dataset: Any) -> bool:
    """Whether samples of a data set, or of one inside it, carry a factor of Σ."""
    if getattr(dataset, 'supplies_covariance', False):
        return True
    inner = getattr(dataset, 'datasets', None) or [getattr(dataset, 'dataset', None)]
    return any(item is not None and supplies_covariance(item) for item in inner)


def joint_names(dataset: Any) -> list[str]:
    """The joints of a pose data set, in order."""
    names = dataset.metainfo['keypoint_id2name']
    return [names[index] for index in sorted(names)]


@DATASETS.register_module()
class PseudoLabelDataset(BaseDataset):
    """Any mmpose data set, unmodified, with Σ̃ from a pseudo-label file added to its keypoints.

    The wrapped data set keeps its own short pipeline (usually empty); this one's pipeline does the
    rest, and is refused when built if a transform in it would leave Σ̃ behind.

    Args:
        dataset (dict): Config of the wrapped data set, such as CocoDataset.
        file (str | None): What ``tools/pseudo_labels.py`` wrote; None attaches nothing.
        recipe (dict | None): How that tool is to make the file (``PseudoLabelRecipe``); a file
            that was made otherwise is refused.
        pipeline (list): Transforms.
    """

    def __init__(
        self,
        dataset: dict | BaseDataset,
        file: str | Path | None = None,
        recipe: dict | None = None,
        pipeline: Sequence[dict | Callable] = (),
        test_mode: bool = False,
        lazy_init: bool = False,
        max_refetch: int = 1000,
    ) -> None:
        self.dataset = DATASETS.build(dataset) if isinstance(dataset, dict) else dataset
        self.recipe = dict(recipe or {})
        PseudoLabelRecipe(**self.recipe)  # an unknown field is an error now
        self.labels = PseudoLabelFile.read(file) if file is not None else None
        self.supplies_covariance = self.labels is not None or supplies_covariance(self.dataset)
        super().__init__(
            pipeline=list(pipeline),
            test_mode=test_mode,
            lazy_init=lazy_init,
            max_refetch=max_refetch,
            serialize_data=False,
        )
        self._metainfo = self.dataset.metainfo
        if self.supplies_covariance:
            check_pipeline(self.pipeline.transforms, type(self).__name__)
        if self.labels is not None:
            self._check_labels()

    def _check_labels(self) -> None:
        assert self.labels is not None
        self.labels.check_joints(joint_names(self))
        self.labels.check_recipe(self.recipe)
        count = len(self.dataset)
        for index in np.linspace(0, count - 1, min(_CHECKED_SAMPLES, count)).astype(int):
            self.labels.root(self.dataset.get_data_info(int(index)))

    @property
    def metainfo(self) -> dict:
        """The meta information of the wrapped data set."""
        return self.dataset.metainfo

    def full_init(self) -> None:
        """Load the wrapped data set."""
        self.dataset.full_init()
        self._fully_initialized = True

    def __len__(self) -> int:
        return len(self.dataset)

    def get_data_info(self, idx: int) -> dict[str, Any]:
        """The wrapped sample, with ``pseudo_factor`` (1, 2K, 2K) in image pixels."""
        info = (
            self.dataset[idx] if _has_pipeline(self.dataset) else self.dataset.get_data_info(idx)
        )
        info.pop('dataset', None)
        root = self.labels.root(info) if self.labels is not None else None
        if root is not None:
            attach_factor(info, 'pseudo_factor', root)
        return info

    def prepare_data(self, idx: int) -> Any:
        """The sample after this data set's pipeline; None has another one drawn."""
        info = self.get_data_info(idx)
        if self.labels is not None and 'pseudo_factor' not in info:
            return None  # its image could not be read
        return self.pipeline(info)


def _has_pipeline(dataset: Any) -> bool:
    return bool(dataset.pipeline.transforms)


@DATASETS.register_module()
class MergedDataset(CombinedDataset):
    """mmpose's CombinedDataset for sets that have the same joints: it takes their metainfo.

    Args:
        datasets (list[dict]): Configs.
        pipeline (list): Transforms for the samples of all.
    """

    def __init__(self, datasets: list[dict], pipeline: Sequence[dict | Callable] = (), **kwargs):
        first = datasets[0]
        metainfo = first.get('metainfo') or DATASETS.get(first['type']).METAINFO
        super().__init__(metainfo=metainfo, datasets=datasets, pipeline=list(pipeline), **kwargs)
        names = [joint_names(dataset) for dataset in self.datasets]
        if any(other != names[0] for other in names):
            raise UserError('MergedDataset: the data sets have different joints')
        if supplies_covariance(self):
            check_pipeline(self.pipeline.transforms, type(self).__name__)
