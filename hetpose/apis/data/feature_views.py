"""Run a frozen backbone over augmented views of a data set once, and keep its maps."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import Compose
from mmpose.registry import DATASETS
from mmpose.structures import PoseDataSample
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

from hetpose.apis.data.representation import Crops, unaugmented
from hetpose.apis.loading import build_network
from hetpose.datasets.pose.feature_views import (
    FIELDS,
    INSTANCE_FIELDS,
    FeatureViewDataset,
    view_files,
)
from hetpose.datasets.pose.pseudo_label_file import label_digest, sample_id
from hetpose.datasets.transforms.covariance import attach_factor
from hetpose.errors import UserError
from hetpose.fileio import atomic_path
from hetpose.models.backbones.movenet import pack, unpack

POOLED = 4  # places along each axis over which maps are averaged for the pseudo-labels
TARGETS = ('GenerateTarget', 'PackPoseInputs')


class Views(Dataset):
    """Every sample of a data set through the spatial part of a pipeline, by a seed of its own."""

    def __init__(self, dataset: Any, pipeline: Sequence[dict], view: int) -> None:
        self.dataset, self.view = dataset, view
        steps = [step for step in pipeline if step['type'] not in TARGETS]
        self.pipeline = Compose(steps if view else unaugmented(steps))

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """The augmented image (3, h, w) uint8 and its labels."""
        info = self.dataset.get_data_info(index)
        name = sample_id(info)
        attach_factor(info, 'pseudo_factor', np.eye(2 * info['keypoints'].shape[1]))
        seed = zlib.crc32(f'{name} {self.view}'.encode())
        np.random.seed(seed)  # noqa: NPY002 - what mmpose's and albumentations' transforms draw from
        results = self.pipeline(info)
        if results is None:
            raise UserError(f'image cannot be read: {info["img_path"]}')
        row: dict[str, Any] = {
            field: np.asarray(results[field], np.float32)[0 if field in INSTANCE_FIELDS else ...]
            for field in FIELDS
        }
        row['keypoints_visible'] = row['keypoints_visible'].reshape(len(row['keypoints']), -1)[
            :, 0
        ]
        row['factor_maps'] = results['transformed_pseudo_factor'][0]
        row['ids'] = name
        row['image'] = np.ascontiguousarray(results['img'].transpose(2, 0, 1))
        return row


@torch.no_grad()
def packed_maps(model: Any, images: Tensor) -> np.ndarray:
    """Images (B, 3, h, w) uint8 → the backbone's packed maps (B, n) float16, run in bfloat16."""
    samples = [PoseDataSample() for _ in images]
    batch = model.data_preprocessor(dict(inputs=list(images), data_samples=samples))['inputs']
    with torch.autocast('cpu', torch.bfloat16):
        maps = model.backbone(batch.contiguous(memory_format=torch.channels_last))
    return pack([m.float() for m in maps]).half().numpy()


def write_views(
    config: Config,
    folder: str | Path,
    views: Sequence[int],
    part: str = 'train',
    batch_size: int = 16,
    progress: bool = True,
) -> None:
    """Write those of the ``views`` of a config's training data that are not there yet.

    View 0 is the plain crop, the others go through the training pipeline. Of the other parts,
    'val' and 'test', the plain crop and its mirror image are written, as the one view.
    """
    model = build_network(config, backbone_weights=True).to(memory_format=torch.channels_last)
    source = config[f'{part}_dataloader'].dataset
    mirror = part != 'train'
    inner = source if 'dataset' not in source else source.dataset
    dataset = DATASETS.build({**inner, 'pipeline': []})
    pipeline = config.train_pipeline
    for view in [0] if mirror else views:
        maps_file, labels_file = view_files(folder, view)
        if maps_file.is_file() and labels_file.is_file():
            continue
        loader = DataLoader(Views(dataset, pipeline, view), batch_size=batch_size)
        rows: list[dict[str, Any]] = []
        with atomic_path(maps_file) as temporary:
            stored = None
            for batch in tqdm(loader, desc=f'view {view}', disable=not progress):
                images = batch.pop('image')
                lanes = [images, images.flip(-1)] if mirror else [images]
                maps = np.stack([packed_maps(model, lane) for lane in lanes], axis=1)
                if stored is None:
                    shape = (len(dataset), *maps.shape[1:])
                    stored = np.lib.format.open_memmap(temporary, 'w+', np.float16, shape)
                start = sum(len(row['ids']) for row in rows)
                stored[start : start + len(maps)] = maps
                rows.append({name: np.asarray(value) for name, value in batch.items()})
            assert stored is not None
            stored.flush()
        with atomic_path(labels_file) as temporary:
            columns: dict[str, Any] = {
                name: np.concatenate([row[name] for row in rows]) for name in rows[0]
            }
            np.savez(temporary, **columns)


def crops_of_views(dataset: FeatureViewDataset, batch_size: int = 64) -> Crops:
    """The plain crops of view 0, each represented by its maps averaged over 4 × 4 places."""
    records, maps = dataset.records[0], dataset.maps[0]
    features = []
    for start in range(0, len(maps), batch_size):
        packed = torch.from_numpy(np.array(maps[start : start + batch_size, 0])).float()
        pooled = [nn.functional.adaptive_avg_pool2d(m, POOLED) for m in unpack(packed)]
        features.append(torch.cat([p.flatten(1) for p in pooled], dim=1).numpy())
    infos = [dataset.dataset.get_data_info(row) for row in range(len(maps))]
    linear = records['factor_maps'][:, :2, :2]
    return Crops(
        index=np.arange(len(maps)),
        ids=records['ids'],
        digests=np.array([label_digest(info) for info in infos], np.uint64),
        features=np.concatenate(features),
        points=records['transformed_keypoints'],
        present=records['keypoints_visible'] > 0,
        warps=np.concatenate([linear, np.zeros_like(linear[..., :1])], axis=-1),
    )
