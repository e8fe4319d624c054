"""Whether the parts of a pose config fit each other: found before the first step, named by key.

Axes: C channels, (h, w) the backbone's feature map.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from mmengine.config import Config
from mmpose.datasets.datasets.utils import parse_pose_metainfo
from mmpose.registry import DATASETS, KEYPOINT_CODECS
from torch import Tensor, nn

from hetpose.engine.config_file import one_line
from hetpose.errors import UserError

HEAD = 'HeteroscedasticHead'
TEST_KEYS = ('flip_test', 'flip_mode', 'output_heatmaps', 'output_keypoint_indices')
# Where pipelines that are run may stand; a variable at the top of a config may be left over.
_PIPELINES = ('train_dataloader', 'val_dataloader', 'test_dataloader', 'custom_hooks')
_CODEC = ('input_size', 'heatmap_size', 'sigma', 'use_udp')


def typed_dicts(node: Any, where: str = '') -> Iterator[tuple[str, dict]]:
    """Every dict with a ``type`` inside a config's node, with its dotted key."""
    if isinstance(node, dict):
        if isinstance(node.get('type'), str):
            yield where, node
        for key, value in node.items():
            yield from typed_dicts(value, f'{where}.{key}' if where else str(key))
    elif isinstance(node, list | tuple):
        for index, value in enumerate(node):
            yield from typed_dicts(value, f'{where}.{index}')


def transforms(config: Mapping[str, Any], *suffixes: str) -> list[tuple[str, dict]]:
    """The transforms in use whose type ends in one of ``suffixes``, with their dotted keys."""
    parts = {name: config.get(name) for name in _PIPELINES}
    return [(where, node) for where, node in typed_dicts(parts) if node['type'].endswith(suffixes)]


def is_heteroscedastic(config: Mapping[str, Any]) -> bool:
    """Whether the model of a config is a pose estimator with our head."""
    model = config.get('model') or {}
    head = model.get('head') if isinstance(model, dict) else None
    return isinstance(head, dict) and str(head.get('type')).endswith(HEAD)


def check_pose_config(config: Config) -> None:
    """Raise where codec, crops, targets, evaluators and joints of a config contradict each other.

    Configs without a HeteroscedasticHead are left alone.
    """
    if not is_heteroscedastic(config):
        return
    head = config.model.head
    if not isinstance(head.get('decoder'), dict):
        raise UserError('model.head.decoder is missing: give it a SoftArgmaxCodec')
    codec = _settings(head.decoder, 'model.head.decoder')
    encoders = transforms(config, 'GenerateTarget')
    if config.get('train_dataloader') and not encoders:
        raise UserError('train_dataloader.dataset.pipeline has no GenerateTarget')
    for where, node in encoders:
        encoder = node.get('encoder')
        if _settings(encoder, f'{where}.encoder') != codec:
            raise UserError(
                f'{where}.encoder is not the codec of model.head.decoder: '
                f'{_difference(_settings(encoder, where), codec)}'
            )
    for where, node in transforms(config, 'TopdownAffine'):
        if tuple(node.get('input_size', ())) != codec['input_size']:
            raise UserError(
                f'{where}.input_size is {node.get("input_size")}, and '
                f'model.head.decoder.input_size is {codec["input_size"]}'
            )
        if bool(node.get('use_udp', False)) != codec['use_udp']:
            raise UserError(
                f'{where}.use_udp is {bool(node.get("use_udp", False))}, and '
                f'model.head.decoder.use_udp is {codec["use_udp"]}: joints would be up to a pixel '
                'off'
            )
    _check_joints(config)
    _check_test_keys(config)


def _check_test_keys(config: Config) -> None:
    for key in config.model.get('test_cfg') or {}:
        if key not in TEST_KEYS:
            raise UserError(
                f'model.test_cfg.{key} is read by nothing in {HEAD}, which reads '
                f'{", ".join(TEST_KEYS)}: remove it'
            )


def _settings(codec: Any, where: str) -> dict[str, Any]:
    """The settings of a SoftArgmaxCodec's config, with its defaults filled in."""
    kind = codec.get('type') if isinstance(codec, dict) else type(codec).__name__
    if not isinstance(codec, dict) or not str(kind).endswith('SoftArgmaxCodec'):
        raise UserError(f'{where} is a {kind}, and {HEAD} learns from a SoftArgmaxCodec')
    try:
        built = KEYPOINT_CODECS.build({**codec})
    except (TypeError, ValueError, IndexError) as error:
        raise UserError(f'{where}: {one_line(error)}') from error
    return {name: getattr(built, name) for name in _CODEC}


def _difference(left: dict[str, Any], right: dict[str, Any]) -> str:
    return ', '.join(
        f'{name} {left[name]} against {right[name]}' for name in left if left[name] != right[name]
    )


def joint_count(config: Config) -> int | None:
    """The number of joints in the training data of a config; None where it does not tell."""
    loader = config.get('train_dataloader') or {}
    for _, node in typed_dicts(loader.get('dataset')):  # a wrapper comes before what it wraps
        metainfo = node.get('metainfo') or getattr(DATASETS.get(node['type']), 'METAINFO', None)
        if not metainfo:
            continue
        try:
            return len(parse_pose_metainfo(dict(metainfo))['keypoint_id2name']) or None
        except (AssertionError, AttributeError, KeyError, TypeError, OSError):
            return None  # building the data set will tell what is wrong with it
    return None


def _check_joints(config: Config) -> None:
    count, predicted = joint_count(config), config.model.head.get('out_channels')
    if count is not None and predicted != count:
        raise UserError(
            f'model.head.out_channels is {predicted}, and the training data have {count} joints'
        )


def check_evaluators(config: Config) -> None:
    """Raise where a metric measures in other heatmap units than the head predicts in."""
    head = (config.get('model') or {}).get('head') or {}
    wanted = (head.get('decoder') or {}).get('heatmap_size')
    for name in ('val_evaluator', 'test_evaluator'):
        evaluators: Any = config.get(name) or []
        evaluators = evaluators if isinstance(evaluators, list | tuple) else [evaluators]
        for evaluator in evaluators:
            size = evaluator.get('heatmap_size') if isinstance(evaluator, dict) else None
            if wanted and size and tuple(size) != tuple(wanted):
                raise UserError(
                    f'{name}.heatmap_size is {tuple(size)}, and that of model.head.decoder is '
                    f'{tuple(wanted)}: the metrics would be in other units than the model'
                )


def check_pose_model(model: nn.Module) -> None:
    """Raise where the feature maps of backbone and neck are not what a HeteroscedasticHead takes.

    One empty image of the codec's input size goes through the two. Other models are left alone.
    """
    model = getattr(model, 'module', model)
    head: Any = getattr(model, 'head', None)
    if type(head).__name__ != HEAD:
        return
    channels, height, width = feature_map(model, head.decoder.input_size).shape[1:]
    if channels != head.in_channels:
        raise UserError(
            f'model.head.in_channels is {head.in_channels}, and the features have {channels} '
            'channels'
        )
    if (height, width) != head._feature_size():
        wide, high = head.decoder.heatmap_size
        wanted = head._feature_size()
        raise UserError(
            f'model.head.decoder.heatmap_size {(wide, high)} and deconv_out_channels ask for '
            f'features of {wanted[1]}×{wanted[0]}, and the backbone gives {width}×{height} for an '
            f'input of {head.decoder.input_size}; every deconvolution doubles the size'
        )


@torch.no_grad()
def feature_map(model: Any, input_size: tuple[int, int]) -> Tensor:
    """The last feature map of backbone and neck for one empty image: (1, C, h, w)."""
    parts = [('model.backbone', model.backbone)]
    if getattr(model, 'neck', None) is not None:
        parts.append(('model.neck', model.neck))
    parameter = next(model.backbone.parameters(), torch.empty(0))
    value: Any = parameter.new_zeros(1, 3, input_size[1], input_size[0])
    for name, part in parts:
        training = part.training
        try:
            part.eval()  # of mmpose it returns None
            value = part(value)
        except (RuntimeError, ValueError, TypeError, AssertionError, IndexError) as error:
            raise UserError(
                f'{name} cannot take an input of {tuple(input_size)}: {one_line(error)}'
            ) from error
        finally:
            part.train(training)
    last = value[-1] if isinstance(value, list | tuple) and len(value) else value
    if not isinstance(last, Tensor) or last.ndim != 4:
        name, part = parts[-1]
        shape = tuple(last.shape) if isinstance(last, Tensor) else type(last).__name__
        advice = 'remove it (neck=None)' if name == 'model.neck' else "use out_type='featmap'"
        raise UserError(
            f'{name}: {type(part).__name__} gives {shape}, and the head needs a feature map; '
            f'{advice}'
        )
    return last
