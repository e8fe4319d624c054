"""Give the model of any top-down mmpose config a covariance: swap head, codec and targets."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import mmpose
from mmengine.config import Config, ConfigDict
from mmpose.registry import MODELS
from torch import nn

from hetpose.engine.config_file import load_config, one_line
from hetpose.engine.pose_setup import (
    HEAD,
    check_pose_config,
    check_pose_model,
    feature_map,
    is_heteroscedastic,
    joint_count,
    transforms,
    typed_dicts,
)
from hetpose.errors import UserError

PACKAGED = Path(mmpose.__file__).parent / '.mim' / 'configs'
# What a heatmap head and ours share; with them the weights of a published checkpoint fit.
_DECODER_KEYS = (
    'deconv_out_channels',
    'deconv_kernel_sizes',
    'conv_out_channels',
    'conv_kernel_sizes',
    'final_layer',
)
_READ_BY_HEAD = ('flip_test', 'output_heatmaps', 'output_keypoint_indices')
# The residuals of an untrained mean, which lies in the middle of the map, are about this share of
# its side.
_FIRST_RESIDUAL = 0.2
_DEFAULT = 'AnchoredCovariance'


def find_config(name: str) -> Path:
    """A config file by its path, or by the file name of one that mmpose brings along."""
    if Path(name).is_file():
        return Path(name)
    found = sorted(PACKAGED.rglob(Path(name).name))
    if not found:
        raise UserError(f'config not found: {name} (neither here nor among those of mmpose)')
    return found[0]


def add_covariance(
    config: Config, covariance: str = _DEFAULT, objective: str | None = None
) -> Config:
    """A copy of a config whose model predicts a distribution over its joints.

    Input size, UDP, joints, channels and sizes of the features are read from the config and from
    one pass of an empty image through its backbone; the result is checked before it is returned.

    Args:
        config: any config of a TopdownPoseEstimator.
        covariance: type of the parameterisation; that of a Student-t gets an anchored scale.
        objective: type of the objective; None takes the one that goes with the covariance.
    """
    config = copy.deepcopy(config)
    if is_heteroscedastic(config):
        raise UserError(f'model.head is a {HEAD} already')
    model = config.get('model', {})
    if not str(model.get('type')).endswith('TopdownPoseEstimator'):
        raise UserError(
            f'model.type is {model.get("type")}: a covariance goes with a TopdownPoseEstimator'
        )
    input_size, use_udp = _crop(config)
    joints = _joints(config)
    features = _feature_shape(model, input_size)
    heatmap_size = _heatmap_size(model.head, input_size)
    codec = dict(
        type='SoftArgmaxCodec',
        input_size=input_size,
        heatmap_size=heatmap_size,
        sigma=2.0,
        use_udp=use_udp,
    )
    model.head = ConfigDict(
        type=HEAD,
        in_channels=features[0],
        out_channels=joints,
        **_decoder(model.head, features, heatmap_size),
        covariance=_covariance(covariance, heatmap_size),
        objective=dict(type=objective or _objective(covariance)),
        decoder=codec,
    )
    test_cfg = model.get('test_cfg') or {}
    model.test_cfg = ConfigDict({k: v for k, v in test_cfg.items() if k in _READ_BY_HEAD})
    _use_codec(config, codec)
    _use_tools(config, codec)
    check_pose_config(config)
    check_pose_model(_build(model, 'model'))
    return config


def _crop(config: Config) -> tuple[tuple[int, int], bool]:
    """The one input size (w, h) and the one UDP setting of all top-down crops of a config."""
    crops = transforms(config, 'TopdownAffine')
    if not crops:
        raise UserError('the pipelines of the config have no TopdownAffine: is it top-down?')
    known = [(tuple(node['input_size']), bool(node.get('use_udp', False))) for _, node in crops]
    for (where, _), found in zip(crops, known, strict=True):
        if found != known[0]:
            raise UserError(
                f'{where} and {crops[0][0]} crop differently: input_size and use_udp are '
                f'{found} and {known[0]}'
            )
    (width, height), use_udp = known[0]
    return (int(width), int(height)), use_udp


def _joints(config: Config) -> int:
    head = config.model.get('head') or {}
    predicted = head.get('out_channels', head.get('num_joints'))
    known = joint_count(config)
    if not isinstance(predicted, int):
        if known is None:
            raise UserError('neither model.head.out_channels nor the data tell the joints')
        return known
    if known is not None and predicted != known:
        raise UserError(
            f'model.head.out_channels is {predicted}, and the training data have {known} joints'
        )
    return predicted


def _build(node: Any, name: str) -> nn.Module:
    node = copy.deepcopy(node)
    for _, part in typed_dicts(node):
        part.pop('init_cfg', None)  # no download of weights to look at shapes
    try:
        return MODELS.build(node)
    except (KeyError, TypeError, ValueError, AssertionError, ImportError) as error:
        raise UserError(f'{name} cannot be built: {one_line(error)}') from error


def _feature_shape(model: ConfigDict, input_size: tuple[int, int]) -> tuple[int, int, int]:
    """(C, h, w) of the features; a neck that leaves no map is taken out of the model."""
    parts = nn.Module()
    parts.backbone = _build(model.backbone, 'model.backbone')
    if model.get('neck') is not None:
        parts.neck = _build(model.neck, 'model.neck')
        try:
            return _shape(parts, input_size)
        except UserError:
            del parts.neck
            model.neck = None
    return _shape(parts, input_size)


def _shape(parts: nn.Module, input_size: tuple[int, int]) -> tuple[int, int, int]:
    _, channels, height, width = feature_map(parts, input_size).shape
    return channels, height, width


def _heatmap_size(head: Any, input_size: tuple[int, int]) -> tuple[int, int]:
    """(W, H) of the old codec's heatmaps, else a quarter of the input."""
    codec = (head or {}).get('decoder')
    codec = codec[-1] if isinstance(codec, list | tuple) and codec else codec
    size = codec.get('heatmap_size') if isinstance(codec, dict) else None
    if size is not None and len(size) != 2:
        raise UserError(f'model.head.decoder.heatmap_size is {size}: joints must lie in a plane')
    width, height = size or (input_size[0] // 4, input_size[1] // 4)
    return int(width), int(height)


def _decoder(head: Any, features: tuple[int, int, int], size: tuple[int, int]) -> dict[str, Any]:
    """Arguments of the layers from features (C, h, w) to heatmaps of ``size`` (W, H)."""
    (_, height, width), doublings = features, 0
    while (width << doublings, height << doublings) != size:
        doublings += 1
        if width << doublings > size[0] or height << doublings > size[1]:
            raise UserError(
                f'heatmaps of {size} are no doubling of features of {(width, height)}: choose '
                'another model.head.decoder.heatmap_size'
            )
    if str((head or {}).get('type')).endswith('HeatmapHead'):
        kept = {key: head[key] for key in _DECODER_KEYS if key in head}
        layers = kept.get('deconv_out_channels', (256, 256, 256))
        if len(layers or ()) == doublings:
            return kept
    return dict(
        deconv_out_channels=(256,) * doublings or None,
        deconv_kernel_sizes=(4,) * doublings or None,
    )


def _is(quality: str, covariance: str) -> bool:
    """Whether a parameterisation calls itself 'anchored' or 'heavy_tailed'."""
    kind = MODELS.get(covariance)
    if kind is None:
        raise UserError(f'unknown covariance {covariance!r}: see docs/objectives.md')
    return bool(getattr(kind, quality, False))


def _covariance(covariance: str, size: tuple[int, int]) -> dict[str, Any]:
    if _is('heavy_tailed', covariance):
        return dict(type=covariance, scale=_covariance(_DEFAULT, size))
    settings: dict[str, Any] = dict(type=covariance, floor=1e-2)
    if _is('anchored', covariance):
        settings['initial_std'] = round(_FIRST_RESIDUAL * max(size), 1)
    return settings


def _objective(covariance: str) -> str:
    if _is('heavy_tailed', covariance):
        return 'StudentNLLObjective'
    return 'AnchoredNLLObjective' if _is('anchored', covariance) else 'FaithfulObjective'


def _use_codec(config: Config, codec: dict[str, Any]) -> None:
    """Let every GenerateTarget encode with our codec, also those of pipelines to come."""
    for _, node in typed_dicts(config._cfg_dict):
        if node['type'].endswith('GenerateTarget'):
            for key in ('multilevel', 'target_type'):
                node.pop(key, None)
            node['encoder'] = copy.deepcopy(codec)
    if 'codec' in config:
        config._cfg_dict['codec'] = ConfigDict(codec)


def _use_tools(config: Config, codec: dict[str, Any]) -> None:
    """Register hetpose, refresh an anchor, and evaluate and draw covariances."""
    imports = config.get('custom_imports') or dict(imports=[])
    config.custom_imports = dict(
        imports=[*imports['imports'], 'hetpose'], allow_failed_imports=False
    )
    covariance = config.model.head.covariance
    if 'initial_std' in covariance.get('scale', covariance):
        config.custom_hooks = [
            *(config.get('custom_hooks') or []),
            dict(type='RefreshAnchorHook'),
        ]
    metrics = [
        dict(
            type='HeteroscedasticPoseMetric',
            heatmap_size=codec['heatmap_size'],
            use_udp=codec['use_udp'],
        ),
        dict(type='CalibrationMetric'),
    ]
    for name in ('val_evaluator', 'test_evaluator'):
        theirs = config.get(name)
        if theirs:
            theirs = list(theirs) if isinstance(theirs, list | tuple) else [theirs]
            config[name] = [*theirs, *metrics]
    visualizer = config.get('visualizer')
    if visualizer and visualizer.get('type') == 'PoseLocalVisualizer':
        visualizer.type = 'HetPoseVisualizer'


def converted_text(path: str, **choices: Any) -> str:
    """The text of a config file with a covariance, from the config file ``path``."""
    source = find_config(path)
    config = add_covariance(load_config(source), **choices)
    head = config.model.head
    return (
        f'# {source.name} with a covariance over its {head.out_channels} joints, written by '
        f'tools/add_covariance.py.\n{config.pretty_text}'
    )
