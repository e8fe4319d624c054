"""Crops of a data set as vectors: pooled backbone features or thumbnails, then PCA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import Compose
from mmengine.dist import collect_results, get_dist_info
from mmpose.structures import PoseDataSample
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

from hetpose.apis.loading import load_network
from hetpose.datasets.guarded import CheckSample
from hetpose.datasets.pose.pseudo_label_file import label_digest, sample_id
from hetpose.datasets.quarantine import Quarantine, bad_sample, sample_problem
from hetpose.errors import UserError


@dataclass(frozen=True)
class Crops:
    """N samples of K joints as they lie in the un-augmented network input.

    ``features`` (N, m), ``points`` (N, K, 2) in input pixels, ``present`` (N, K), ``warps``
    (N, 2, 3) image → input pixels, ``index`` (N,) in the data set, ``ids`` and ``digests`` (N,).
    """

    index: np.ndarray
    ids: np.ndarray
    digests: np.ndarray
    features: np.ndarray
    points: np.ndarray
    present: np.ndarray
    warps: np.ndarray
    unreadable: tuple[str, ...] = ()


class CropDataset(Dataset):
    """Samples of a data set through the un-augmented part of a training pipeline."""

    def __init__(self, dataset: Any, pipeline: Sequence[dict], pixels: int | None) -> None:
        self.dataset, self.pixels = dataset, pixels
        self.pipeline = Compose([CheckSample(), *unaugmented(pipeline)])

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """One crop; where the sample is bad, ``picture`` is None and ``reason`` is set."""
        info = self.dataset.get_data_info(index)
        row = dict(index=index, id=sample_id(info), digest=0, picture=None)
        try:
            problem = sample_problem(info)
            results = None
            if problem is None:
                row['digest'] = label_digest(info)
                results = self.pipeline(info)
        except MemoryError:
            raise
        except Exception as error:  # decoders raise whatever they like
            problem, results = bad_sample(error), None
        if results is None:
            return dict(row, reason=problem or 'its image cannot be read')
        image = results['img']
        if self.pixels is not None:
            side = (self.pixels, self.pixels)
            image = cv2.resize(image, side, interpolation=cv2.INTER_AREA)
        visible = np.asarray(results['keypoints_visible'])
        return dict(
            row,
            picture=np.ascontiguousarray(image.transpose(2, 0, 1)),
            points=results['transformed_keypoints'][0, :, :2],
            present=(visible[..., 0] if visible.ndim == 3 else visible)[0] > 0,
            warp=results['warp_matrix'],
        )


def unaugmented(pipeline: Sequence[dict]) -> list[dict]:
    """The loading, the box and the crop of a training pipeline, without what is random."""
    kept = []
    for transform in pipeline:
        kind = transform['type']
        if kind in ('LoadImage', 'LoadPoseImage', 'GetBBoxCenterScale'):
            kept.append(dict(transform))
        elif kind in ('TopdownAffine', 'CovarianceTopdownAffine'):
            kept.append(dict(transform, type='CovarianceTopdownAffine'))
    if not any(transform['type'] == 'CovarianceTopdownAffine' for transform in kept):
        raise UserError('the training pipeline has no top-down crop (CovarianceTopdownAffine)')
    return kept


class Extractor:
    """Pictures (B, 3, h, w) uint8 → vectors (B, m): thumbnails as they are, or pooled features."""

    def __init__(self, config: Config, checkpoint: str | Path | None) -> None:
        self.model = None
        if checkpoint is not None:
            self.model, _ = load_network(config, checkpoint, whole=False)

    @torch.no_grad()
    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        if self.model is None:
            return pictures.reshape(len(pictures), -1).astype(np.float32) / 255
        inputs = list(torch.from_numpy(pictures))
        samples = [PoseDataSample() for _ in inputs]
        data = self.model.data_preprocessor(dict(inputs=inputs, data_samples=samples))
        features = self.model.extract_feat(data['inputs'])
        features = features[-1] if isinstance(features, list | tuple) else features
        return features.flatten(2).mean(-1).float().cpu().numpy()


def extract(
    dataset: Any,
    pipeline: Sequence[dict],
    extractor: Extractor,
    pixels: int,
    batch_size: int = 32,
    workers: int = 0,
    progress: bool = True,
    quarantine: Quarantine | None = None,
) -> Crops | None:
    """Every sample of a data set as a row of Crops; the ranks share the work, rank 0 gets it.

    Bad samples are left out; rank 0 counts and lists them in ``quarantine``.
    """
    quarantine = Quarantine() if quarantine is None else quarantine
    rank, world = get_dist_info()
    crops = CropDataset(dataset, pipeline, pixels if extractor.model is None else None)
    loader = DataLoader(
        crops,
        batch_size=batch_size,
        sampler=range(rank, len(crops), world),  # type: ignore[arg-type]
        num_workers=workers,
        collate_fn=list,
    )
    rows, unreadable = [], []
    for batch in tqdm(loader, desc='representation', disable=not progress or rank > 0):
        unreadable += [(row['id'], row['reason']) for row in batch if row['picture'] is None]
        if world == 1 and unreadable:
            quarantine.add(*unreadable[-1], len(crops))  # too many end the work at once
        batch = [row for row in batch if row['picture'] is not None]
        if batch:
            features = extractor(np.stack([row.pop('picture') for row in batch]))
            rows += [
                dict(row, feature=feature) for row, feature in zip(batch, features, strict=True)
            ]
    if world > 1:
        shares = collect_results([(rows, unreadable)], world, device='cpu')
        if rank > 0:
            return None
        rows = [row for share in shares for row in share[0]]
        unreadable = [pair for share in shares for pair in share[1]]
    for name, reason in unreadable:
        quarantine.add(name, reason, len(crops))
    ordered = sorted(rows, key=lambda row: row['index'])
    return _stack(ordered, [name for name, _ in unreadable])


def _stack(rows: list[dict[str, Any]], unreadable: list[str]) -> Crops:
    if not rows:
        raise UserError('no image of the data set can be read')
    columns = {name: np.stack([row[name] for row in rows]) for name in rows[0] if name != 'digest'}
    return Crops(
        index=columns['index'],
        ids=columns['id'],
        digests=np.array([row['digest'] for row in rows], np.uint64),
        features=columns['feature'],
        points=columns['points'],
        present=columns['present'],
        warps=columns['warp'],
        unreadable=tuple(unreadable),
    )


def reduce_dimension(features: np.ndarray, dimension: int) -> np.ndarray:
    """The first principal components (N, at most min(dimension, N, m)) of features (N, m).

    Components that rounding explains are left out, since whitening would blow them up to the size
    of the others. The rounding of the features is noise of eps·|largest feature| in every entry,
    whose singular values are at most that times √N + √m; that of the decomposition of a (m, m)
    covariance adds √(m·eps) of the largest, in float64.
    """
    from sklearn.decomposition import PCA

    dimension = min(dimension, *features.shape)
    pca = PCA(dimension, random_state=0)
    # In float64, or the decomposition would add more rounding than the features hold.
    components = pca.fit_transform(features.astype(np.float64))
    noise = np.finfo(features.dtype).eps * np.abs(features).max() * np.sqrt(features.shape).sum()
    noise = noise + np.sqrt(features.shape[1] * np.finfo(np.float64).eps) * pca.singular_values_[0]
    return components[:, : max(1, int((pca.singular_values_ > noise).sum()))]
