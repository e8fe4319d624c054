"""From a config file to a Runner that can start: one place for launch logic, for every tool.

On a GPU the processes talk over nccl, on a CPU over gloo. What a user can get wrong is checked
here, before the Runner is built, so that the first line they see names it.
"""

from __future__ import annotations

import difflib
import inspect
import os
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config, ConfigDict
from mmengine.dist import is_distributed
from mmengine.registry import RUNNERS, Registry, init_default_scope
from mmengine.runner import EpochBasedTrainLoop, Runner
from mmpose.registry import (
    DATA_SAMPLERS,
    DATASETS,
    HOOKS,
    KEYPOINT_CODECS,
    LOOPS,
    METRICS,
    MODELS,
    OPTIM_WRAPPERS,
    OPTIMIZERS,
    PARAM_SCHEDULERS,
    TRANSFORMS,
    VISUALIZERS,
)
from torch.utils.data import DataLoader

from hetpose.errors import UserError

# Registries in which a config's `type` may be found, each with the keys that are taken out of the
# dict before it reaches the constructor.
_REGISTRIES: dict[Registry, frozenset[str]] = {
    MODELS: frozenset({'requires_grad'}),  # of norm layers
    DATASETS: frozenset(),
    TRANSFORMS: frozenset(),
    KEYPOINT_CODECS: frozenset(),
    HOOKS: frozenset({'priority'}),
    METRICS: frozenset(),
    OPTIM_WRAPPERS: frozenset({'optimizer', 'paramwise_cfg', 'constructor'}),
    OPTIMIZERS: frozenset(),
    PARAM_SCHEDULERS: frozenset({'convert_to_iter_based'}),
    DATA_SAMPLERS: frozenset(),
    LOOPS: frozenset({'by_epoch'}),
    VISUALIZERS: frozenset(),
}
_RUNNER_KEYS = frozenset(inspect.signature(Runner.__init__).parameters) - {'self', 'cfg'}
# Read from the config by mmengine's Runner or by mmpose's tools, beside the arguments of the
# Runner.
_EXTRA_KEYS = frozenset({'model_wrapper_cfg', 'sync_bn', 'find_unused_parameters', 'runner_type'})
# Arguments of what the Runner builds from dicts without a type.
_LOADER_KEYS = set(inspect.signature(DataLoader.__init__).parameters) - {'self'}
_UNTYPED = {
    'train_cfg': set(inspect.signature(EpochBasedTrainLoop.__init__).parameters) - {'self'},
    'model.test_cfg': {'flip_test', 'flip_mode', 'output_heatmaps', 'output_keypoint_indices'},
    **{f'{name}_dataloader': _LOADER_KEYS for name in ('train', 'val', 'test')},
}


def load_config(path: str | Path, options: dict[str, Any] | None = None) -> Config:
    """Read a config file and merge ``--cfg-options`` into it; an unknown key is an error.

    It also makes the default scope of the config the one in which names are looked up from now.
    """
    if not Path(path).is_file():
        raise UserError(f'config not found: {path}')
    try:
        config = Config.fromfile(str(path))
    except FileNotFoundError as error:
        raise UserError(f'config {path}: {_one_line(error)}') from error
    except Exception as error:  # a config is a program: it may raise anything
        raise UserError(f'config {path} cannot be read: {_one_line(error)}') from error
    init_default_scope(config.get('default_scope', 'mmpose'))
    for key in options or {}:
        _check_option(config, key)
    try:
        config.merge_from_dict(options or {})
    except (TypeError, KeyError, ValueError) as error:
        raise UserError(f'--cfg-options: {_one_line(error)}') from error
    try:
        check_config(config._cfg_dict)
    except UserError as error:
        raise UserError(f'config {path}: {error}') from None
    return config


def _check_option(config: Config, option: str) -> None:
    """Raise where ``option`` (a dotted key) neither exists nor could be read by anything."""
    node: Any = config._cfg_dict
    parts = option.split('.')
    for depth, part in enumerate(parts):
        if isinstance(node, list | tuple):
            if not part.isdigit() or int(part) >= len(node):
                raise UserError(
                    f'--cfg-options {option}: {part!r} is no index of a list of {len(node)}'
                )
            node = node[int(part)]
        elif isinstance(node, dict):
            known = set(node) | (_RUNNER_KEYS | _EXTRA_KEYS if depth == 0 else set())
            known |= (_arguments(node) or set()) | _UNTYPED.get('.'.join(parts[:depth]), set())
            if part not in known:
                raise UserError(
                    f'--cfg-options {option}: unknown key {part!r}{_hint(part, known)}'
                )
            node = node.get(part)
        elif node is None:
            return  # a key that the class takes and the config leaves out
        else:
            raise UserError(
                f'--cfg-options {option}: {".".join(parts[:depth])} is a value, not a dict'
            )


def _arguments(node: ConfigDict) -> set[str] | None:
    """The keys that ``node['type']`` takes; None where that cannot be told."""
    kind, extra = node.get('type'), frozenset[str]()
    if isinstance(kind, str) and kind:  # a joint in metainfo has a type, and it may be ''
        for registry, taken_out in _REGISTRIES.items():
            found = registry.get(kind)
            if found is not None:
                kind, extra = found, taken_out
                break
    if not inspect.isclass(kind):
        return None
    names = {'type', '_scope_', *extra}
    for base in kind.__mro__:
        if '__init__' not in vars(base) or base is object:
            continue
        parameters = inspect.signature(vars(base)['__init__']).parameters.values()
        names |= {
            p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        }
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            return names - {'self'}  # keyword arguments go no further up
    return None


def check_config(node: Any, where: str = '') -> None:
    """Raise where a dict with a ``type`` holds a key that this type does not take."""
    if isinstance(node, dict):
        known = _arguments(node) if 'type' in node else None
        for key in node:
            if known is not None and key not in known:
                raise UserError(f'{where}: {node["type"]} takes no {key!r}{_hint(key, known)}')
        for key, value in node.items():
            check_config(value, f'{where}.{key}' if where else str(key))
    elif isinstance(node, list | tuple):
        for index, value in enumerate(node):
            check_config(value, f'{where}.{index}')


def _hint(key: str, known: set[str]) -> str:
    near = difflib.get_close_matches(key, sorted(known), n=1)
    if near:
        return f'; did you mean {near[0]!r}?'
    return f'; known here: {", ".join(sorted(known - {"type", "_scope_"}))}'


def use_work_dir(config: Config, work_dir: str | None, path: str | Path) -> None:
    """Set the work directory: argument, then config, then ``work_dirs/<config name>``."""
    if work_dir is not None:
        config.work_dir = work_dir
    elif config.get('work_dir') is None:
        config.work_dir = str(Path('work_dirs') / Path(path).stem)


def use_launcher(config: Config, launcher: str) -> None:
    """Make the config start under ``launcher``: nccl on GPUs as mmengine does it, gloo on CPUs.

    mmengine's own start-up sets a CUDA device whatever the backend is, so on a CPU the process
    group is opened here.
    """
    config.launcher = launcher
    if launcher == 'none' or torch.cuda.is_available():
        return
    if launcher != 'pytorch':
        raise UserError(
            f'--launcher {launcher} needs a GPU; on CPUs use --launcher pytorch (torchrun)'
        )
    if not is_distributed():
        missing = [name for name in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK') if name not in os.environ]
        if missing:
            raise UserError(
                f'--launcher pytorch without {", ".join(missing)}: start with tools/dist_train.sh'
            )
        torch.distributed.init_process_group('gloo')
    config.model_wrapper_cfg = dict(
        type='MMDistributedDataParallel',
        device_ids=None,
        broadcast_buffers=False,
        find_unused_parameters=config.get('find_unused_parameters', False),
    )


def use_amp(config: Config) -> None:
    """Switch the optimiser wrapper to mixed precision."""
    if not torch.cuda.is_available():
        raise UserError('--amp needs a GPU: mixed precision on a CPU is not supported by mmengine')
    kind = config.optim_wrapper.get('type', 'OptimWrapper')
    if kind not in ('OptimWrapper', 'AmpOptimWrapper'):
        raise UserError(f'--amp does not know the optimiser wrapper {kind!r} of this config')
    config.optim_wrapper.type = 'AmpOptimWrapper'
    config.optim_wrapper.setdefault('loss_scale', 'dynamic')


def use_visualization(config: Config, show_dir: str | None, interval: int = 1) -> None:
    """Draw every ``interval``-th sample of the evaluation into ``show_dir``."""
    if show_dir is None:
        return
    hook = config.get('default_hooks', {}).get('visualization')
    if hook is None:
        raise UserError('--show-dir: this config has no default_hooks.visualization')
    hook.update(enable=True, out_dir=show_dir, interval=interval)


def build_runner(config: Config) -> Runner:
    """Build the Runner; what the registries or the data sets refuse becomes one line."""
    try:
        if 'runner_type' in config:
            return RUNNERS.build(config)
        return Runner.from_cfg(config)
    except OSError as error:
        raise UserError(_one_line(error)) from error
    except (KeyError, TypeError, ValueError, ImportError, AssertionError) as error:
        raise UserError(f'config {config.filename}: {_one_line(error)}') from error


def build_dataloaders(runner: Runner, *names: str) -> None:
    """Build the named data loaders now, so that a missing data root is the first thing said."""
    for name in names:
        loader = getattr(runner, f'_{name}_dataloader')
        if not isinstance(loader, dict):
            continue
        try:
            setattr(runner, f'_{name}_dataloader', runner.build_dataloader(loader))
        except (OSError, KeyError, TypeError, ValueError, AssertionError) as error:
            # mmpose's COCO classes assert that the annotation file exists.
            raise UserError(f'{name} data: {_one_line(error)}') from error


def check_checkpoint(model: torch.nn.Module, path: str | Path, whole: bool) -> None:
    """Raise where the weights of a checkpoint do not fit ``model``.

    Args:
        model: The model, wrapped or not.
        path: The checkpoint file; an address (with ``://``) is left to mmengine.
        whole: Whether every weight of the model must be there, as for a test. To start another
            training, it is enough that most of the checkpoint's weights fit: a head for other
            joints starts anew.
    """
    if '://' in str(path):
        return
    if not Path(path).is_file():
        raise UserError(f'checkpoint not found: {path}')
    try:
        content = torch.load(path, map_location='cpu', weights_only=True)
    except Exception as error:  # a torn zip, another format, refused code: torch raises many kinds
        raise UserError(f'checkpoint {path} cannot be read: {_one_line(error)}') from error
    weights = content.get('state_dict', content) if isinstance(content, dict) else {}
    weights = {name.removeprefix('module.'): value for name, value in weights.items()}
    wanted = getattr(model, 'module', model).state_dict()
    # An anchor that is not yet set, and the name of a parameterisation, take any length; a ViT
    # resamples the positions of images of another size.
    elastic = ('_extra_state', 'pos_embed')
    fixed = [n for n in wanted if wanted[n].numel() and not n.endswith(elastic)]
    reshaped = [n for n in fixed if n in weights and weights[n].shape != wanted[n].shape]
    missing = [n for n in wanted if n not in weights]
    fitting = len(wanted) - len(missing) - len(reshaped)
    if reshaped and (whole or fitting < len(reshaped)):
        name = reshaped[0]
        raise UserError(
            f'checkpoint {path} does not fit: {name} is {tuple(weights[name].shape)} there and '
            f'{tuple(wanted[name].shape)} in the model ({len(reshaped)} such weights)'
        )
    if not fitting or (whole and missing):
        raise UserError(
            f'checkpoint {path} does not fit: it lacks {len(missing)} of {len(wanted)} weights of '
            f'the model, first {missing[0]}'
        )


def _one_line(error: BaseException) -> str:
    text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
    return ' '.join(str(text).split()) or type(error).__name__
