"""Any pose data set with its bad samples left out, counted and listed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from mmcv.transforms import BaseTransform
from mmengine.dataset import BaseDataset, pseudo_collate
from mmpose.datasets.datasets.base import BaseCocoStyleDataset
from mmpose.registry import DATASETS
from torch.utils.data import DataLoader, Dataset

from hetpose.datasets.quarantine import Quarantine, bad_sample, sample_problem
from hetpose.errors import BadSampleError, UserError


class CheckSample(BaseTransform):
    """Stands first in a pipeline: a sample whose file or numbers cannot be used is an error.

    Required Keys: img_path (optional), bbox (optional), keypoints (optional).
    """

    covariance_safe = True

    def transform(self, results: dict[str, Any]) -> dict[str, Any]:
        """Raise BadSampleError, or return the results."""
        path = results.get('img_path')
        if path is not None and results.get('img') is None and '://' not in str(path):
            if not Path(path).exists():
                raise BadSampleError(f'image not found: {path}')
            if not Path(path).is_file():  # reading a pipe would wait for ever
                raise BadSampleError(f'not a file: {path}')
        problem = sample_problem(results)
        if problem is not None:
            raise BadSampleError(problem)
        return results


class GuardedDataset(Dataset):
    """A data set that skips what its own pipeline cannot use.

    In training another sample is drawn in its place, as mmengine does for None. In a test the
    sample is None, and ``TolerantLoader`` leaves it out. Everything else is the data set's own,
    also when it is set, so that hooks which exchange its pipeline still do.
    """

    def __init__(self, dataset: BaseDataset, quarantine: Quarantine) -> None:
        self.__dict__.update(dataset=dataset, quarantine=quarantine)
        _check_first(dataset)

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__') or 'dataset' not in self.__dict__:
            raise AttributeError(name)  # while it is unpickled in a worker
        return getattr(self.dataset, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.dataset, name, value)
        if name == 'pipeline':
            _check_first(self.dataset)

    def __deepcopy__(self, memo: dict) -> GuardedDataset:
        """Itself: mmengine copies a loader's settings, and a data set is no setting."""
        return self

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        """The sample; another one, or None in a test, where it is bad."""
        attempts = 1 if self.dataset.test_mode else self.dataset.max_refetch + 1
        for _ in range(attempts):
            try:
                data = self.dataset.prepare_data(index)
                reason = 'its pipeline gave nothing'
            except (MemoryError, UserError) as error:
                if not isinstance(error, BadSampleError):
                    raise
                data, reason = None, bad_sample(error)
            except Exception as error:  # decoders and transforms raise whatever they like
                data, reason = None, bad_sample(error)
            if data is not None:
                return data
            self.quarantine.add(sample_name(self.dataset, index), reason, len(self))
            if not self.dataset.test_mode:
                index = self.dataset._rand_another()
        if self.dataset.test_mode:
            return None
        raise UserError(f'{self.quarantine.split} data: {attempts} samples in a row are bad')


def _check_first(dataset: Any) -> None:
    """Let every pipeline of a data set, and of those inside it, begin with CheckSample."""
    for inner in [getattr(dataset, 'dataset', None), *(getattr(dataset, 'datasets', None) or [])]:
        if inner is not None:
            _check_first(inner)
    steps = getattr(getattr(dataset, 'pipeline', None), 'transforms', None)
    if steps and not isinstance(steps[0], CheckSample):
        steps.insert(0, CheckSample())


def sample_name(dataset: Any, index: int) -> str:
    """The name of a sample in messages: its image and annotation, else its number."""
    number = index
    while True:
        if getattr(dataset, 'datasets', None):
            part, index = dataset._get_subset_index(index)
            dataset = dataset.datasets[part]
        elif getattr(dataset, 'dataset', None) is not None:
            dataset = dataset.dataset
        else:
            break
    try:
        info = BaseDataset.get_data_info(dataset, index)  # without rendering a synthetic figure
        found = [f'{key} {info[key]}' for key in ('id', 'img_path') if info.get(key) is not None]
    except Exception:  # the annotation itself is bad
        found = []
    return ', '.join(found) or f'sample {number}'


class TolerantLoader(DataLoader):
    """A data loader that leaves out batches of which nothing could be used."""

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        return (batch for batch in super().__iter__() if batch is not None)


class CollateUsable:
    """A collate function for the samples of a batch that could be used; None where none could."""

    def __init__(self, collate: Any = pseudo_collate) -> None:
        self.collate = collate

    def __call__(self, batch: list[Any]) -> Any:
        usable = [sample for sample in batch if sample is not None]
        return self.collate(usable) if usable else None


def tolerant(loader: DataLoader) -> DataLoader:
    """The same loader, for a data set whose samples may be None."""
    if isinstance(loader.dataset, GuardedDataset):
        loader.collate_fn = CollateUsable(loader.collate_fn)
        loader.__class__ = TolerantLoader
    return loader


@contextmanager
def _annotations_into(quarantine: Quarantine) -> Iterator[None]:
    """While it lasts, an annotation that mmpose cannot parse is left out, by name."""
    registered: list[Any] = [k for k in DATASETS.module_dict.values() if isinstance(k, type)]
    classes: set[Any] = {BaseCocoStyleDataset, *registered}
    changed = [kind for kind in classes if 'parse_data_info' in vars(kind)]
    originals = {kind: kind.parse_data_info for kind in changed}

    def guarded(original: Any) -> Any:
        @wraps(original)
        def parse_data_info(self: Any, raw: dict) -> Any:
            try:
                info = original(self, raw)
                joints = self._metainfo.get('num_keypoints')
                problem = _annotation_problem(info, joints)
            except (UserError, MemoryError):
                raise
            except Exception as error:
                info, problem = None, bad_sample(error)
            if problem is not None:
                quarantine.add(_annotation_name(raw), problem)
                return None
            return info

        return parse_data_info

    try:
        for kind, original in originals.items():
            kind.parse_data_info = guarded(original)
        yield
    finally:
        for kind, original in originals.items():
            kind.parse_data_info = original


def _annotation_problem(info: Any, joints: int | None) -> str | None:
    """As ``sample_problem``; boxes without an area are mmpose's to leave out."""
    if not isinstance(info, dict):
        return None
    count = np.asarray(info.get('keypoints', np.zeros((1, joints or 0, 2)))).shape[1]
    if joints is not None and count != joints:
        return f'it has {count} keypoints, and the data set {joints}'
    flat = np.asarray(info.get('bbox', ()), dtype=np.float64)
    known = {key: value for key, value in info.items() if key != 'bbox'}
    problem = sample_problem(known)
    if problem is None and 'keypoints' in known:
        info['keypoints'] = known['keypoints']
    if problem is None and not np.isfinite(flat).all():
        problem = f'its box is {flat.reshape(-1).tolist()}'
    return problem


def _annotation_name(raw: Any) -> str:
    annotation = raw.get('raw_ann_info') if isinstance(raw, dict) else None
    image = raw.get('raw_img_info') if isinstance(raw, dict) else None
    parts = []
    if isinstance(annotation, dict) and 'id' in annotation:
        parts.append(f'annotation {annotation["id"]}')
    if isinstance(image, dict) and 'file_name' in image:
        parts.append(f'image {image["file_name"]}')
    return ', '.join(parts) or f'annotation {str(annotation)[:60]}'


def build_guarded(config: dict, quarantine: Quarantine, main: bool = True) -> Any:
    """Build the data set of a config; what is wrong with its files is one line.

    A set that mmpose does not read by samples, such as a regression set, is built as it is.
    Annotations that cannot be parsed are left out in every process, and listed by the main one.
    """
    if main:
        quarantine.clear()
    _refuse_pipes(config, quarantine.split)
    try:
        with _annotations_into(quarantine):
            dataset = DATASETS.build(config)
            if hasattr(dataset, 'full_init'):
                dataset.full_init()
    except (UserError, MemoryError):
        raise
    except Exception as error:  # a damaged annotation file makes readers raise anything
        reason = _nothing(quarantine) if quarantine.names else bad_sample(error)
        raise UserError(f'{quarantine.split} data: {_files(config)}{reason}') from error
    outer, dataset = dataset, getattr(dataset, 'dataset', dataset)
    if isinstance(outer, BaseDataset):  # a wrapper that has a pipeline of its own
        dataset = outer
    if not isinstance(dataset, BaseDataset):
        return outer
    if not len(dataset):
        raise UserError(f'{quarantine.split} data: {_files(config)}{_nothing(quarantine)}')
    quarantine.check(len(dataset) + len(quarantine.names))
    guarded = GuardedDataset(dataset, quarantine)
    if outer is dataset:
        return guarded
    outer.dataset = guarded  # a wrapper that seeds the samples stays around it
    return outer


def _nothing(quarantine: Quarantine) -> str:
    if not quarantine.names:
        return 'no usable sample'
    name, reason = next(iter(quarantine.names.items()))
    return f'no usable sample: {len(quarantine.names)} are bad, first {name}: {reason}'


def _annotation_files(config: Any) -> Iterator[Path]:
    if isinstance(config, dict):
        for key in ('ann_file', 'bbox_file'):
            if isinstance(config.get(key), str) and config[key]:
                yield Path(config.get('data_root') or '') / config[key]
        for value in config.values():
            yield from _annotation_files(value)
    elif isinstance(config, list | tuple):
        for value in config:
            yield from _annotation_files(value)


def _refuse_pipes(config: dict, split: str) -> None:
    for path in _annotation_files(config):
        if path.exists() and not path.is_file():
            raise UserError(f'{split} data: not a file: {path}')


def _files(config: dict) -> str:
    files = sorted({str(path) for path in _annotation_files(config)})
    return f'{", ".join(files)}: ' if files else ''
