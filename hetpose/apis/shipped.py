"""Models that come with the package, by name.

``hetpose/zoo`` holds, for every name, NAME.json (its config), NAME.pth (its weights, in half
precision) and NAME.calibration.json (a recalibration of its covariances).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmpose.apis.inference import dataset_meta_from_config

from hetpose import zoo
from hetpose.engine.checkpoint import read_checkpoint, weights_of
from hetpose.errors import UserError
from hetpose.fileio import atomic_path, write_json

OF_MMPOSE = ('dataset_type', 'data_mode', 'visualizer')  # what its own inferencer reads
KEPT = ('default_scope', 'custom_imports', *OF_MMPOSE, 'model')
EVALUATED = ('dataloader', 'evaluator', 'cfg')


def known_models() -> list[str]:
    """The names of the models that come with the package."""
    names = sorted(path.stem for path in zoo.FOLDER.glob('*.json'))
    return [name for name in names if f'{name}.pth' in zoo.checksums()]


def is_name(config: str | Path) -> bool:
    """Whether this is the name of a model, not a config file: no suffix, no folder, no file.

    A name that is not known is a UserError that lists those that are.
    """
    path = Path(config)
    if path.suffix or len(path.parts) != 1 or path.exists():
        return False
    if path.name not in known_models():
        known = ', '.join(known_models())
        raise UserError(f'unknown model {str(config)!r}: give a config file, or one of {known}')
    return True


def calibration_of(config: str | Path) -> Path | None:
    """The recalibration of a shipped model; None where ``config`` is not one or has none."""
    path = zoo.FOLDER / f'{config}.calibration.json'
    return path if is_name(config) and path.is_file() else None


def resolve_model(
    config: str | Path, checkpoint: str | Path | None
) -> tuple[str | Path, str | Path | None]:
    """Config and checkpoint files of a name or of files; shipped weights are verified."""
    if not is_name(config):
        return config, checkpoint
    if checkpoint is None:
        checkpoint = zoo.shipped(f'{config}.pth')
    return zoo.FOLDER / f'{config}.json', checkpoint


def without_init(settings: Any) -> None:
    """Take every ``init_cfg`` out of a model's config, in place: its weights come from a file."""
    if isinstance(settings, dict):
        settings.pop('init_cfg', None)
        settings = settings.values()
    elif not isinstance(settings, list | tuple):
        return
    for value in settings:
        without_init(value)


def pack_model(config: Config, checkpoint: str | Path, name: str) -> Path:
    """Write what the package ships of a trained model, and return the file of its weights.

    The config keeps the model, the validation data and the test data, which serve as validation
    data where there are none. Weights are stored in half precision; they are read back into
    float32.
    """
    content = read_checkpoint(checkpoint)
    weights = {
        key: value.half() if value.is_floating_point() else value
        for key, value in weights_of(content).items()
    }
    joints = content.get('meta', {}).get('dataset_meta')
    meta = {'dataset_meta': joints or dataset_meta_from_config(config, 'test')}
    target = zoo.FOLDER / f'{name}.pth'
    with atomic_path(target) as temporary:
        torch.save(dict(state_dict=weights, meta=meta), temporary)
    kept = Config({key: config[key] for key in KEPT if key in config}).to_dict()
    without_init(kept['model'])  # the weights are in the file
    for key in EVALUATED:
        test = config.get(f'test_{key}', {})
        kept[f'test_{key}'], kept[f'val_{key}'] = test, config.get(f'val_{key}', test)
    write_json(zoo.FOLDER / f'{name}.json', Config(kept).to_dict())
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    write_json(zoo.FOLDER / 'checksums.json', {**zoo.checksums(), target.name: digest})
    return target
