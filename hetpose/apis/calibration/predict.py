"""Run a model over the data of its config and keep what it predicts, with the truth."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config, ConfigDict
from torch.utils.data import DataLoader
from tqdm import tqdm

from hetpose.apis.calibration.arrays import distribution_of
from hetpose.apis.calibration.predictions import Predictions
from hetpose.apis.calibration.recalibration import weights_fingerprint
from hetpose.apis.loading import load_network
from hetpose.apis.shipped import resolve_model
from hetpose.engine import launch
from hetpose.engine.loaders import guarded_loader, quarantine_for, report_bad_samples
from hetpose.engine.suite import resolve
from hetpose.errors import UserError
from hetpose.evaluation.metrics.calibration import read_sample
from hetpose.ops.distribution import Distribution

SPLITS = ('train', 'val', 'test')


def load_config(path: str | Path, options: dict[str, Any] | Sequence[str] | None = None) -> Config:
    """The config of a run, with what a regression suite leaves to be filled in."""
    config = launch.load_config(path, options)
    return resolve(config) if config.get('runner_type') == 'SuiteRunner' else config


def evaluation_loader(config: Config, split: str, folder: str | Path | None = None) -> DataLoader:
    """The data loader of a split, in order and without augmentation.

    The training split is read as the validation split is: its loader's settings and its pipeline.
    Bad samples are left out, and listed in ``folder``.
    """
    wanted = f'{split}_dataloader'
    if config.get(wanted) is None:
        raise UserError(f'config {config.filename} has no {wanted}; choose another split')
    loader = copy.deepcopy(config[wanted])
    if split == 'train':
        model = config.get('val_dataloader') or config.get('test_dataloader')
        if model is None:
            raise UserError(
                f'config {config.filename} has no val_dataloader to read the training data with'
            )
        loader = copy.deepcopy(model)
        loader.dataset = _with_pipeline(config[wanted].dataset, model.dataset)
    if 'pipeline' in loader.dataset:
        loader.dataset.test_mode = True  # no other sample takes the place of a bad one
    return guarded_loader(loader, quarantine_for(config, split, folder))


def _with_pipeline(dataset: ConfigDict, model: ConfigDict) -> ConfigDict:
    dataset = copy.deepcopy(dataset)
    if 'pipeline' in dataset and 'pipeline' in model:
        dataset.pipeline = copy.deepcopy(model.pipeline)
    return dataset


def predict_split(
    model: torch.nn.Module,
    config: Config,
    split: str = 'val',
    limit: int | None = None,
    progress: bool = True,
    folder: str | Path | None = None,
) -> Predictions:
    """Predictions of a split, at most ``limit`` samples of it; poses in image pixels.

    Bad samples are left out, counted, and listed in a file in ``folder``.
    """
    if split not in SPLITS:
        raise UserError(f'unknown split {split!r}; known: {", ".join(SPLITS)}')
    loader = evaluation_loader(config, split, folder)
    rows: list[Distribution] = []
    images: list[Any] = []
    pose, count, joints = False, 0, None
    for batch in tqdm(loader, desc=f'predicting {split}', disable=not progress):
        with torch.no_grad():
            outputs = model.test_step(batch)  # type: ignore[operator]
        for output in outputs:
            sample = output.to_dict() if hasattr(output, 'to_dict') else output
            pose = 'pred_instances' in sample
            joints = sample['pred_instances'].get('keypoint_indices') if pose else None
            rows.append(read_sample(sample, batch))
            images += [sample.get('img_id', count) if pose else count] * len(rows[-1])
            count += len(rows[-1])
        if limit is not None and count >= limit:
            break
    report_bad_samples(loader)
    if not rows:
        raise UserError(f'the {split} split of {config.filename} is empty')
    found = Distribution.joined(rows).select(slice(limit))
    data = distribution_of(
        found.mean,
        found.covariance,
        found.target,
        found.mask,
        found.block,
        found.degrees_of_freedom,
    )
    parts = range(data.dim // data.block) if joints is None else joints[0].tolist()
    known = getattr(loader.dataset, 'metainfo', {}).get('keypoint_id2name', {})
    return Predictions(
        data,
        tuple(str(known.get(k, k)) for k in parts),
        'pixels' if pose else '',
        Path(config.filename).stem if config.filename else None,
        weights_fingerprint(model),
        _groups(images[:limit]) if pose else None,
    )


def _groups(images: list[Any]) -> torch.Tensor:
    """Numbers (N,) that are equal where the images are, whatever their ids are."""
    known = {str(image): number for number, image in enumerate(dict.fromkeys(map(str, images)))}
    return torch.tensor([known[str(image)] for image in images])


def predict_splits(
    path: str | Path,
    checkpoint: str | Path | None = None,
    splits: Sequence[str] = ('val',),
    device: str = 'cpu',
    limit: int | None = None,
    options: dict[str, Any] | Sequence[str] | None = None,
    folder: str | Path | None = None,
) -> dict[str, Predictions]:
    """Load a model once and predict the named splits of its config, by name.

    Bad samples are left out, counted, and listed in a file in ``folder``.
    """
    path, checkpoint = resolve_model(path, checkpoint)
    if checkpoint is None:
        raise UserError(f'give the checkpoint of {path}')
    config = load_config(path, options)
    model, _ = load_network(config, checkpoint, device)
    return {split: predict_split(model, config, split, limit, folder=folder) for split in splits}
