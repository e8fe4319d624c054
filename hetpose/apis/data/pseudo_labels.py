"""Pseudo-labels: Σ̃ of a config's training samples from their neighbours in a representation."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dist import barrier, is_main_process
from mmengine.logging import print_log

from hetpose.apis.data.feature_views import crops_of_views
from hetpose.apis.data.representation import Crops, Extractor, extract, reduce_dimension
from hetpose.datasets.guarded import GuardedDataset, build_guarded
from hetpose.datasets.pose.feature_views import FeatureViewDataset
from hetpose.datasets.pose.pseudo_label_file import (
    PseudoLabelFile,
    PseudoLabelRecipe,
    fingerprint,
    pack_symmetric,
)
from hetpose.datasets.pose.wrappers import joint_names
from hetpose.datasets.quarantine import Quarantine
from hetpose.engine.loaders import quarantine_for
from hetpose.errors import UserError
from hetpose.ops.affine import transform_covariance
from hetpose.ops.neighbours import pseudo_covariances
from hetpose.ops.spd import symmetric_sqrt

_BLOCK = 2048  # samples whose roots are taken at once


def training_data(
    config: Config, quarantine: Quarantine | None = None
) -> tuple[Any, list[dict], dict[str, Any]]:
    """The training data set without pseudo-labels, its pipeline and its recipe."""
    if 'train_dataloader' not in config:
        raise UserError(f'{config.filename} has no train_dataloader')
    target = config.train_dataloader.dataset.copy()
    recipe = dict(target.get('recipe') or {})
    pipeline = list(target.get('pipeline') or [])
    inner = target.dataset if target.type == 'PseudoLabelDataset' else target
    if inner is target:
        inner = inner.copy()
        inner.pipeline = []
        if 'file' in inner:  # the maps of a backbone, with the file that is to be made
            inner.file = None
    quarantine = Quarantine(split='train') if quarantine is None else quarantine
    return build_guarded(inner, quarantine, is_main_process()), pipeline, recipe


def image_roots(covariances: torch.Tensor, warps: np.ndarray) -> np.ndarray:
    """Packed symmetric roots (N, d(d+1)/2) in image pixels of Σ̃ (N, d, d) in input pixels.

    With A the linear part of the crop (N, 2, 3), Σ̃_image = (I⊗A⁻¹) Σ̃ (I⊗A⁻¹)ᵀ.
    """
    packed = []
    for start in range(0, len(covariances), _BLOCK):
        rows = slice(start, start + _BLOCK)
        back = torch.from_numpy(np.linalg.solve(warps[rows, :, :2], np.eye(2)[None]))
        moved = transform_covariance(covariances[rows].double(), back)
        packed.append(pack_symmetric(symmetric_sqrt(moved).numpy()))
    return np.concatenate(packed)


def pseudo_labels_from_crops(
    crops: Crops, recipe: PseudoLabelRecipe, progress: bool = True
) -> tuple[np.ndarray, dict[str, int]]:
    """Packed roots (N, d(d+1)/2) of Σ̃ in image pixels, and the dimension and k that were used."""
    x = torch.from_numpy(reduce_dimension(crops.features, recipe.dimension)).double()
    count, joints = crops.present.shape
    k = min(recipe.k or 10 * 2 * joints, count)
    mask = np.repeat(crops.present, 2, axis=1)
    y = np.where(mask, crops.points.reshape(count, -1), 0.0)
    covariances = pseudo_covariances(
        x,
        torch.from_numpy(y).double(),
        k=k,
        mask=torch.from_numpy(mask),
        squared_distance=recipe.squared_distance,
        local_linear=recipe.local_linear,
        progress=progress,
    )
    bad = (~torch.isfinite(covariances).flatten(1).all(1)).nonzero().flatten().tolist()
    if bad:
        raise UserError(f'{len(bad)} pseudo-labels are not finite, first {crops.ids[bad[0]]}')
    return image_roots(covariances, crops.warps), dict(dimension=x.shape[1], k=k)


def make_pseudo_labels(
    config: Config,
    out: str | Path,
    checkpoint: str | Path | None = None,
    options: dict[str, Any] | None = None,
    batch_size: int = 32,
    workers: int = 0,
    progress: bool = True,
) -> PseudoLabelFile | None:
    """Write Σ̃ of every training sample to ``out``; returns the file, on rank 0 only.

    Args:
        config: A pose config; its training pipeline defines the crop.
        out: The .npz file.
        checkpoint: With it the representation is the model's pooled backbone features, without it
            a thumbnail of the crop.
        options: Fields of PseudoLabelRecipe that win over the config's ``recipe``.
        batch_size, workers: Of the extraction.
        progress: Whether to show bars.
    """
    out = Path(out)
    if out.suffix != '.npz':
        raise UserError(f'--out must end in .npz, got {out}')
    quarantine = quarantine_for(config, 'train')
    quarantine.path = out.with_suffix('.quarantine.jsonl')
    dataset, pipeline, wanted = training_data(config, quarantine)
    try:
        recipe = PseudoLabelRecipe(**{**wanted, **(options or {})})
    except (TypeError, ValueError) as error:
        raise UserError(f'pseudo-label recipe: {error}') from error
    views = dataset.dataset if isinstance(dataset, GuardedDataset) else dataset
    if isinstance(views, FeatureViewDataset):
        crops: Crops | None = crops_of_views(views)
    else:
        crops = extract(
            dataset,
            pipeline,
            Extractor(config, checkpoint),
            recipe.pixels,
            batch_size,
            workers,
            progress,
            quarantine,
        )
    labels = None
    if is_main_process():
        assert crops is not None
        chosen = sorted(options or {})
        labels = _write(
            config, out, checkpoint, joint_names(dataset), crops, recipe, chosen, progress
        )
    barrier()
    return labels


def _write(
    config: Config,
    out: Path,
    checkpoint: str | Path | None,
    joints: list[str],
    crops: Crops,
    recipe: PseudoLabelRecipe,
    chosen: list[str],
    progress: bool,
) -> PseudoLabelFile:
    ids = crops.ids.tolist()
    if len(set(ids)) != len(ids):
        raise UserError('two samples of the training data have the same data set name and id')
    try:
        roots, used = pseudo_labels_from_crops(crops, recipe, progress)
    except ValueError as error:  # as of too few samples for a local fit
        raise UserError(f'pseudo-labels of {len(ids)} samples: {error}') from error
    stored = config.train_dataloader.dataset.get('type') == 'FeatureViewDataset'
    representation = 'pooled backbone features' if checkpoint or stored else 'pixels'
    settings = dict(
        recipe=asdict(recipe),
        chosen=chosen,  # fields that were asked for, whatever the config's recipe is
        used=used,
        representation=representation,
        checkpoint=None if checkpoint is None else Path(checkpoint).name,
        config=Path(config.filename).name if config.filename else None,
        fingerprint=fingerprint(ids, crops.digests),
        unreadable=list(crops.unreadable),
        coordinates='image pixels',
    )
    labels = PseudoLabelFile(out, ids, crops.digests, roots, joints, settings)
    labels.write()
    print_log(
        f'{out}: pseudo-labels of {len(ids)} samples ({settings["representation"]}, dimension '
        f'{used["dimension"]}, k {used["k"]}); unreadable images: {len(crops.unreadable)}',
        logger='current',
    )
    return labels
