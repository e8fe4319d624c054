"""Read a config file, change it by options, and name what nothing in it would read."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmengine.config import Config, ConfigDict, DictAction
from mmengine.optim import OptimWrapper
from mmengine.registry import Registry, init_default_scope
from mmengine.runner import EpochBasedTrainLoop, IterBasedTrainLoop, Runner, TestLoop, ValLoop
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
from hetpose.paths import find_config

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
_RUNNER_KEYS = frozenset(inspect.signature(Runner).parameters) - {'cfg'}
# Keys that mmengine's Runner or mmpose's tools read from the config, in addition to the arguments
# of the Runner.
_EXTRA_KEYS = frozenset(
    {
        'model_wrapper_cfg',
        'sync_bn',
        'find_unused_parameters',
        'runner_type',
        'bad_samples',
        'bad_samples_limit',
    }
)


def _parameters(*kinds: type) -> set[str]:
    return set().union(*(inspect.signature(kind).parameters for kind in kinds))


# Arguments of what the Runner builds from dicts without a type.
_LOADER_KEYS = _parameters(DataLoader) | {'num_batch_per_epoch'}
_UNTYPED = {
    'train_cfg': _parameters(EpochBasedTrainLoop, IterBasedTrainLoop) | {'type', 'by_epoch'},
    'val_cfg': _parameters(ValLoop) | {'type'},
    'test_cfg': _parameters(TestLoop) | {'type'},
    'optim_wrapper': _parameters(OptimWrapper) | _REGISTRIES[OPTIM_WRAPPERS] | {'type'},
    'auto_scale_lr': {'enable', 'base_batch_size'},
    **{f'{name}_dataloader': _LOADER_KEYS for name in ('train', 'val', 'test')},
}
_OPEN = {'default_hooks'}  # any name will do
# Read by heads, each of which has keys of its own: a config file may have more.
_COMMON = {
    'model.test_cfg': {'flip_test', 'flip_mode', 'output_heatmaps', 'output_keypoint_indices'}
}


def parse_options(tokens: Sequence[str]) -> dict[str, Any]:
    """``--cfg-options KEY=VALUE ...`` by dotted key, with the values that mmengine reads."""
    for token in tokens:
        if '=' not in token:
            raise UserError(f'--cfg-options {token}: expected KEY=VALUE')
    parser = ArgumentParser()
    parser.add_argument('--options', nargs='+', action=DictAction)
    try:
        options = parser.parse_args(['--options', *tokens]).options if tokens else {}
    except (AssertionError, ValueError, SyntaxError, IndexError) as error:
        raise UserError(f'--cfg-options: {one_line(error)}') from error
    for token in tokens:
        key, value = token.split('=', 1)
        if ' ' in value:  # of which mmengine drops every space
            options[key] = _spaced(value, options[key])
    return options


def _spaced(text: str, read: Any) -> Any:
    """The value of an option with spaces in it, of which mmengine has made ``read``.

    A Python value is that value. Else it is a list where mmengine sees one, or the text itself,
    such as a path.
    """
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text if isinstance(read, str) or '/' in text else read


def load_config(path: str | Path, options: dict[str, Any] | Sequence[str] | None = None) -> Config:
    """Read a config file and merge ``--cfg-options`` into it; an unknown key is an error.

    It also makes the default scope of the config the one in which names are looked up from now.
    """
    path = find_config(path)
    try:
        config = Config.fromfile(str(path))
    except FileNotFoundError as error:
        raise UserError(f'config {path}: {one_line(error)}') from error
    except Exception as error:  # a config is a program: it may raise anything
        raise UserError(f'config {path} cannot be read: {one_line(error)}') from error
    init_default_scope(config.get('default_scope', 'mmpose'))
    changes = options if isinstance(options, dict) else parse_options(options or ())
    for key in changes:
        _check_option(config, key)
    try:
        config.merge_from_dict(changes)
    except (AttributeError, TypeError, LookupError, ValueError, AssertionError) as error:
        raise UserError(f'--cfg-options: {one_line(error)}') from error
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
            where = '.'.join(parts[:depth])
            known |= _arguments(node) or _UNTYPED.get(where) or _COMMON.get(where) or set()
            if part not in known and where not in _OPEN:
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
    """Raise where a dict holds a key that what is built from it does not take."""
    if isinstance(node, dict):
        known = _arguments(node) if 'type' in node else _UNTYPED.get(where)
        for key in node:
            if known is not None and key not in known:
                who = f'{where}: {node["type"]} takes' if 'type' in node else f'{where} takes'
                raise UserError(f'{who} no {key!r}{_hint(key, known)}')
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


def one_line(error: BaseException) -> str:
    """The message of an error on one line; its kind where there is no message.

    A ``type`` that no registry knows comes with the nearest name that one does.
    """
    text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
    unknown = re.match(r'(\w+) is not in the \S+::(.+?) registry', str(text))
    if unknown:
        known = {name for registry in _REGISTRIES for name in registry.module_dict}
        near = difflib.get_close_matches(unknown[1], sorted(known), n=1)
        hint = f'; did you mean {near[0]!r}?' if near else ''
        return f'type {unknown[1]!r} is not in the {unknown[2]} registry{hint}'
    return ' '.join(str(text).split()) or type(error).__name__
