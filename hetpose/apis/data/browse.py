"""Draw what a model is given: samples after their pipeline, with the ellipses of Σ̃ or Σ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from mmengine.config import Config
from tqdm import tqdm

from hetpose.datasets.guarded import build_guarded
from hetpose.datasets.transforms.covariance import COVARIANCE_KEYS, CROP_PREFIX
from hetpose.engine.loaders import quarantine_for
from hetpose.errors import UserError
from hetpose.fileio import write_image
from hetpose.ops.spd import joint_blocks
from hetpose.visualization.drawing import draw_pose, joint_sides

_ENDS = ('GenerateTarget', 'PackPoseInputs')  # from here on there is no picture to draw on
_SIDE = 384  # pixels; a smaller picture is enlarged


def drawable_dataset(config: Config, split: str) -> Any:
    """The data set of a split with its pipeline cut where the picture becomes a tensor."""
    loader = config.get(f'{split}_dataloader')
    if not loader:
        raise UserError(f'{config.filename} has no {split}_dataloader')
    dataset = loader.dataset.copy()
    kinds = [transform['type'] for transform in dataset.get('pipeline') or []]
    if not kinds:
        raise UserError(f'the {split} data of {config.filename} has no pipeline of its own')
    cut = min((kinds.index(kind) for kind in _ENDS if kind in kinds), default=len(kinds))
    dataset.pipeline = dataset.pipeline[:cut]
    return build_guarded(dataset, quarantine_for(config, split))


def factor_of(results: dict[str, Any], which: str | None, prefix: str) -> np.ndarray | None:
    """The factor (2K, 2K) to draw: the named one, else the first that is there."""
    for key in [f'{which}_factor'] if which else COVARIANCE_KEYS:
        factor = results.get(prefix + key)
        if factor is not None:
            return factor[0].astype(np.float64)
    if which:
        raise UserError(f'the samples carry no {which} covariance')
    return None


def draw_sample(
    results: dict[str, Any], meta: dict[str, Any], which: str | None, coverage: float
) -> np.ndarray:
    """The picture (h, w, 3) of one sample, BGR, with its joints and ellipses."""
    prefix = CROP_PREFIX if f'{CROP_PREFIX}keypoints' in results else ''
    image = results['img']
    zoom = max(1, round(_SIDE / max(image.shape[:2])))
    image = cv2.resize(image, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_CUBIC)
    image = np.ascontiguousarray(image[..., ::-1])  # drawing is in RGB
    # The centre of pixel p lies at (p + ½)·zoom − ½ in the enlarged picture.
    keypoints = (results[f'{prefix}keypoints'][0, :, :2] + 0.5) * zoom - 0.5
    factor = factor_of(results, which, prefix)
    blocks = None if factor is None else joint_blocks(factor @ factor.T) * zoom**2
    visible = np.asarray(results['keypoints_visible'])
    shown = (visible[..., 0] if visible.ndim == 3 else visible)[0] > 0
    names = [meta['keypoint_id2name'][index] for index in range(len(keypoints))]
    draw_pose(
        image, keypoints, joint_sides(names), meta['skeleton_links'], blocks, shown, coverage
    )
    return image[..., ::-1]


def browse(
    config: Config,
    out: str | Path,
    number: int = 16,
    split: str = 'train',
    which: str | None = None,
    coverage: float = 0.9,
    progress: bool = True,
) -> list[Path]:
    """Write pictures of ``number`` samples, evenly spread over a split, into ``out``."""
    dataset = drawable_dataset(config, split)
    if number < 1:
        raise UserError(f'--num must be at least 1, got {number}')
    paths = []
    chosen = np.linspace(0, len(dataset) - 1, min(number, len(dataset))).astype(int)
    for index in tqdm(chosen.tolist(), desc='browse', disable=not progress):
        sample = dataset[index]
        if sample is None:
            continue  # its data set said why
        picture = draw_sample(sample, dataset.metainfo, which, coverage)
        path = Path(out) / f'{split}_{index:06d}.png'
        write_image(path, picture)
        paths.append(path)
    return paths
