"""One pass of a frozen model over labelled people, kept in files and resumed where it stopped.

Axes: N people, K joints, F pooled features.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import ConfigDict
from mmengine.dataset import pseudo_collate
from mmengine.dist import barrier, get_dist_info
from mmpose.registry import DATASETS
from torch.utils.data import DataLoader, Subset
from tqdm import tqdm

from hetpose.apis.calibration.recalibration import weights_fingerprint
from hetpose.engine.config_file import one_line
from hetpose.errors import UserError
from hetpose.fileio import atomic_path

CHUNK = 256  # people in one file of the cache


@dataclass(frozen=True)
class Errors:
    """The outputs of a frozen model for N people, and its errors.

    ``pooled`` (N, F) float16 and ``statistics`` (N, K, 8) are what Σ is read from; ``residual``
    (N, K, 2) are label − prediction in image pixels, 0 where ``mask`` (N, K) is False; ``side``
    (N,) is the longer side of the crop in image pixels; ``image`` (N,) names the picture.
    """

    pooled: np.ndarray
    statistics: np.ndarray
    residual: np.ndarray
    mask: np.ndarray
    side: np.ndarray
    image: np.ndarray

    def __len__(self) -> int:
        return len(self.side)

    def select(self, index: np.ndarray) -> Errors:
        """The people of an index (n,) or a boolean (N,)."""
        return Errors(*(getattr(self, name)[index] for name in self.__dataclass_fields__))


def build_dataset(settings: ConfigDict) -> Any:
    """The labelled data set; what it refuses becomes one line."""
    try:
        dataset = DATASETS.build(settings)
    except UserError:
        raise
    except (OSError, KeyError, TypeError, ValueError, AssertionError) as error:
        raise UserError(f'labelled data: {one_line(error)}') from error
    if len(dataset) == 0:
        raise UserError('labelled data: no person has a labelled joint')
    return dataset


def observe_people(
    model: Any,
    settings: ConfigDict,
    folder: Path,
    batch_size: int = 32,
    workers: int = 0,
    progress: bool = True,
) -> Errors | None:
    """The errors of a model with PosthocCovarianceHead over a data set, in evaluation mode.

    Each finished chunk of people is a file under ``folder``, named after the weights and the
    settings that it came from, so that an interrupted pass goes on and nothing stale is read. The
    ranks share the chunks; rank 0 gets them all, the others None.
    """
    dataset = build_dataset(settings)
    folder = folder / _digest(model, settings, len(dataset))
    rank, world = get_dist_info()
    starts = range(0, len(dataset), CHUNK)
    mine = list(starts)[rank::world]
    missing = [
        range(start, min(start + CHUNK, len(dataset)))
        for start in mine
        if not (folder / f'{start:07d}.npz').is_file()
    ]
    total = sum(map(len, missing))
    bar = tqdm(total=total, desc='frozen model', disable=not progress or rank > 0)
    with bar, _quick_on_cpu(model):
        for people in missing:
            seen = _observe(model, dataset, people, batch_size, workers)
            _store(folder / f'{people.start:07d}.npz', seen)
            bar.update(len(people))
    barrier()
    return _read([folder / f'{start:07d}.npz' for start in starts]) if rank == 0 else None


@contextmanager
def _quick_on_cpu(model: Any) -> Iterator[None]:
    """Keep channels last in memory for the time of a pass on a CPU.

    Convolutions take up to 40% less time and round otherwise in the last digits.
    """
    quick = next(model.parameters()).device.type == 'cpu'
    if quick:
        model.to(memory_format=torch.channels_last)
    try:
        yield
    finally:
        if quick:
            model.to(memory_format=torch.contiguous_format)


def read_cache(folder: Path) -> Errors:
    """The errors that one finished pass left under the folder of a cache."""
    passes = sorted(path for path in folder.glob('*') if any(path.glob('*.npz')))
    if len(passes) != 1:
        found = 'no pass' if not passes else f'{len(passes)} passes, of which it needs one'
        raise UserError(f'{folder} holds {found} of a frozen model')
    return _read(sorted(passes[0].glob('*.npz')))


def _digest(model: Any, settings: ConfigDict, size: int) -> str:
    """Sixteen digits that change with the weights, the data set and the settings of a test."""
    files = [Path(settings.get('data_root') or '') / settings.get('ann_file', '')]
    stamps = [f.stat().st_mtime_ns for f in files if f.is_file()]
    content = [
        weights_fingerprint(_without_errors(model)),
        json.dumps(settings.to_dict(), sort_keys=True, default=str),
        json.dumps(dict(model.test_cfg), sort_keys=True, default=str),
        [size, stamps],
    ]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def _without_errors(model: Any) -> torch.nn.Module:
    parts = [model.backbone, model.neck if model.with_neck else None, model.head.head]
    return torch.nn.ModuleList([part for part in parts if part is not None])


@torch.no_grad()
def _observe(
    model: Any, dataset: Any, people: Sequence[int], batch_size: int, workers: int
) -> dict[str, np.ndarray]:
    loader = DataLoader(
        Subset(dataset, people), batch_size, num_workers=workers, collate_fn=pseudo_collate
    )
    rows: dict[str, list[np.ndarray]] = {name: [] for name in Errors.__dataclass_fields__}
    test_cfg = {**model.test_cfg, 'output_keypoint_indices': None, 'output_heatmaps': False}
    for batch in loader:
        data = model.data_preprocessor(batch, False)
        feats = model.extract_feat(data['inputs'])
        if test_cfg.get('flip_test', False):
            feats = [feats, model.extract_feat(data['inputs'].flip(-1))]
        seen = model.head.observe(feats, data['data_samples'], test_cfg)
        own, model.test_cfg = model.test_cfg, test_cfg
        samples = model.add_pred_to_datasample(seen.predictions, None, data['data_samples'])
        model.test_cfg = own
        for name, value in _labels(samples).items():
            rows[name].append(value)
        rows['pooled'].append(seen.pooled.cpu().numpy().astype(np.float16))
        rows['statistics'].append(seen.statistics.cpu().numpy())
    return {name: np.concatenate(parts) for name, parts in rows.items()}


def _labels(samples: list) -> dict[str, np.ndarray]:
    """Residuals, masks, sides and images of a batch, in image pixels."""
    residuals, masks = [], []
    for sample in samples:
        truth, predicted = sample.gt_instances, sample.pred_instances
        if 'keypoints' not in truth:
            raise UserError('labelled data: its pipeline hands over no keypoints')
        target = np.asarray(truth.keypoints, np.float64)[0, :, :2]
        found = np.asarray(predicted.keypoints, np.float64)[0, :, :2]
        if target.shape != found.shape:
            raise UserError(
                f'labelled data has {len(target)} joints a person, the model predicts {len(found)}'
            )
        visible = np.asarray(truth.keypoints_visible).reshape(len(target), -1)[:, 0] > 0
        visible &= np.isfinite(target).all(-1)
        residuals.append(np.where(visible[:, None], target - found, 0.0))
        masks.append(visible)
    images = [str(s.metainfo.get('img_path') or s.metainfo.get('img_id')) for s in samples]
    return dict(
        residual=np.stack(residuals),
        mask=np.stack(masks),
        side=np.array([np.max(s.metainfo['input_scale']) for s in samples], np.float64),
        image=np.array(images),
    )


def _store(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with atomic_path(path) as temporary:
        np.savez(temporary, **arrays)  # type: ignore[arg-type]


def _read(paths: list[Path]) -> Errors:
    """All chunks; people without a labelled joint are left out."""
    chunks = []
    for path in paths:
        try:
            with np.load(path, allow_pickle=False) as content:
                chunks.append({name: content[name] for name in Errors.__dataclass_fields__})
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise UserError(f'{path} is damaged: delete it and start again ({error})') from error
    names = Errors.__dataclass_fields__
    errors = Errors(**{name: np.concatenate([c[name] for c in chunks]) for name in names})
    return errors.select(np.any(errors.mask, axis=-1))
