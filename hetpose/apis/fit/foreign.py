"""The config of a published model: its labelled data, and the config with its head wrapped."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import numpy as np
from mmengine.config import Config, ConfigDict
from mmengine.fileio import load
from mmpose.datasets.datasets.utils import parse_pose_metainfo
from mmpose.registry import DATASETS

from hetpose.errors import UserError
from hetpose.models.heads.foreign_head import refuse_head

WRAPPER = 'PosthocCovarianceHead'
ESTIMATOR = 'TopdownPoseEstimator'
SHORT = {'l': 'left', 'r': 'right', 'f': 'front', 'b': 'back'}  # in names of joints


def check_foreign(config: Config) -> None:
    """Raise a UserError with the reason where the model of a config cannot be wrapped."""
    model = config.get('model') or {}
    kind = str(model.get('type', 'nothing')).rpartition('.')[2]
    if kind != ESTIMATOR:
        raise UserError(
            f'config {config.filename}: its model is a {kind}; only a {ESTIMATOR}, which sees one '
            'person at a time, has errors of one person to fit'
        )
    head = model.get('head') or {}
    if head.get('type') == WRAPPER:
        raise UserError(
            f'config {config.filename}: its head is wrapped already; give the original'
        )
    refuse_head(head)


def innermost(dataset: ConfigDict) -> ConfigDict:
    """The first data set inside wrappers such as CombinedDataset."""
    while 'dataset' in dataset or 'datasets' in dataset:
        dataset = dataset['dataset'] if 'dataset' in dataset else dataset['datasets'][0]
    return dataset


def labelled_dataset(
    config: Config, annotations: str | Path | None = None, images: str | Path | None = None
) -> ConfigDict:
    """The config of a data set with labels: the own val set, or other files in its format.

    Boxes are the labels' own, for boxes of a detector belong to no label.
    """
    loader = config.get('val_dataloader') or config.get('test_dataloader')
    if loader is None:
        raise UserError(f'config {config.filename} has no val_dataloader; its pipeline is needed')
    dataset = copy.deepcopy(loader.dataset)
    for part in (dataset, innermost(dataset)):
        part.pop('bbox_file', None)
    if annotations is not None:
        pipeline = dataset.get('pipeline')
        dataset = innermost(dataset)
        if not dataset.get('pipeline'):
            dataset.pipeline = pipeline
        _use_files(dataset, Path(annotations), images)
    return dataset


def _use_files(dataset: ConfigDict, annotations: Path, images: str | Path | None) -> None:
    if not annotations.is_file():
        raise UserError(f'annotations not found: {annotations}')
    if images is not None and not Path(images).is_dir():
        raise UserError(f'folder of images not found: {images}')
    dataset.data_root = ''
    dataset.ann_file = str(annotations.resolve())
    dataset.data_prefix = dict(img=str(Path(images or annotations.parent).resolve()))
    _check_joints(dataset, annotations)


def _check_joints(dataset: ConfigDict, annotations: Path) -> None:
    """Refuse annotations that name other joints than the data set of the config has."""
    try:
        content = load(str(annotations)) if annotations.suffix == '.json' else {}
    except (ValueError, UnicodeDecodeError) as error:
        raise UserError(f'{annotations} cannot be read as JSON: {error}') from error
    categories = content.get('categories') if isinstance(content, dict) else None
    named = next((c['keypoints'] for c in categories or [] if c.get('keypoints')), None)
    if named is None:
        return
    wanted = dataset_joints(dataset)
    if len(named) == len(wanted):
        same = [_words(name) for name in named] == [_words(name) for name in wanted]
    else:  # files of COCO-WholeBody name the body's joints only: what is read of a person counts
        same = _joints_read(dataset) == len(wanted)
    if not same:
        raise UserError(
            f'{annotations} has other joints than the model: {len(named)} ({_some(named)}), the '
            f'config has {len(wanted)} ({_some(wanted)})'
        )


def _words(name: str) -> list[str]:
    """A joint's name in one spelling: 'L_F_Paw' is 'left_front_paw'."""
    words = re.findall(r'[a-z]+|\d+', str(name).lower())
    return [SHORT.get(word, word) for word in words]


def _joints_read(dataset: ConfigDict) -> int | None:
    """How many joints the data set's own class reads of its first person."""
    try:
        built = DATASETS.build({**dataset, 'pipeline': [], 'test_mode': True})
        return np.asarray(built[0]['keypoints']).shape[-2]
    except (OSError, KeyError, TypeError, ValueError, IndexError, AssertionError):
        return None


def dataset_joints(dataset: ConfigDict) -> list[str]:
    """The names of the joints of a data set's config, in order."""
    given = dataset.get('metainfo') or DATASETS.get(dataset['type']).METAINFO
    names = parse_pose_metainfo(dict(given))['keypoint_id2name']
    return [names[k] for k in range(len(names))]


def _some(names: Any) -> str:
    return ', '.join(map(str, names[:3])) + (', ...' if len(names) > 3 else '')


def trained_on(config: Config, dataset: ConfigDict) -> bool:
    """Whether the labels are those that the config's model was trained on, by their files."""
    training = config.get('train_dataloader')
    if training is None:
        return False
    return bool(_files(training.dataset) & _files(dataset))


def _files(dataset: ConfigDict) -> set[str]:
    """Annotation files of a data set, and of all inside it; a split where there is no file."""
    inside = [
        *dataset.get('datasets', ()),
        *([dataset['dataset']] if 'dataset' in dataset else []),
    ]
    found = set().union(*(_files(part) for part in inside)) if inside else set()
    if dataset.get('ann_file'):
        root = Path(dataset.get('data_root') or '')
        found.add(str((root / dataset['ann_file']).resolve()))
    elif 'split' in dataset:
        found.add(f'{dataset["type"]}:{dataset.get("data_root")}:{dataset["split"]}')
    return found


def wrapped_config(
    config: Config, covariance: dict, objective: dict, dataset: ConfigDict, **settings: Any
) -> Config:
    """The config with its head wrapped, evaluated on ``dataset`` and ready to train on it."""
    config = copy.deepcopy(config)
    config.model.head = ConfigDict(
        type=WRAPPER,
        head=config.model.head,
        covariance=covariance,
        objective=objective,
        **settings,
    )
    _import_hetpose(config)
    loader = copy.deepcopy(config.get('val_dataloader') or config.test_dataloader)
    loader.dataset = copy.deepcopy(dataset)
    config.val_dataloader, config.test_dataloader = loader, copy.deepcopy(loader)
    for name in ('val', 'test'):
        config[f'{name}_evaluator'] = _evaluators(config, name, dataset)
        config[f'{name}_cfg'] = config.get(f'{name}_cfg') or dict()
    _use_training(config, dataset)
    return config


def _import_hetpose(config: Config) -> None:
    imports = config.get('custom_imports') or dict(imports=[])
    names = imports['imports']
    names = [names] if isinstance(names, str) else list(names)
    config.custom_imports = dict(
        imports=names if 'hetpose' in names else [*names, 'hetpose'], allow_failed_imports=False
    )


def _evaluators(config: Config, name: str, dataset: ConfigDict) -> list:
    """The config's own metrics, on the labels of ``dataset``, and calibration."""
    given = config.get(f'{name}_evaluator') or []
    metrics = [copy.deepcopy(m) for m in (given if isinstance(given, list | tuple) else [given])]
    inner = innermost(dataset)
    for metric in metrics:
        if metric.get('ann_file') and inner.get('ann_file'):
            metric['ann_file'] = str(Path(inner.get('data_root') or '') / inner['ann_file'])
    return [*metrics, dict(type='CalibrationMetric')]


def _use_training(config: Config, dataset: ConfigDict) -> None:
    """Train the error model only, on crops that are not augmented: those of predictions."""
    training = copy.deepcopy(dataset)
    for part in (training, innermost(training)):
        part.pop('test_mode', None)
        for step in part.get('pipeline') or ():
            if step['type'] == 'PackPoseInputs':
                step['pack_transformed'] = True
    config.train_dataloader = dict(
        batch_size=32,
        num_workers=config.val_dataloader.get('num_workers', 0),
        persistent_workers=config.val_dataloader.get('persistent_workers', False),
        sampler=dict(type='DefaultSampler', shuffle=True),
        dataset=training,
    )
    config.custom_hooks = [dict(type='FreezeWrappedHook')]
    config.optim_wrapper = dict(optimizer=dict(type='AdamW', lr=1e-4, weight_decay=0.01))
    config.param_scheduler = []
    config.train_cfg = dict(by_epoch=True, max_epochs=10, val_interval=10)
    config.find_unused_parameters = True
    for name in ('auto_scale_lr', 'resume'):
        config.pop(name, None)
