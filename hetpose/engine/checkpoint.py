"""Read a checkpoint without running what it may carry, and tell whether it fits a model."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hetpose.errors import UserError


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read the content of a checkpoint file to the CPU."""
    if not Path(path).is_file():
        raise UserError(f'checkpoint not found: {path}')
    _check_sums(path)
    try:
        content = torch.load(path, map_location='cpu', weights_only=True)
    except Exception as error:  # torch raises many kinds
        raise UserError(
            f'checkpoint {path} cannot be read: it is torn, of another kind, or carries code '
            f'({type(error).__name__}); tools/misc/trust_checkpoint.py keeps the weights of a '
            'file that you trust'
        ) from error
    if not isinstance(content, dict):
        raise UserError(f'checkpoint {path} holds a {type(content).__name__}, not weights by name')
    return content


def _check_sums(path: str | Path) -> None:
    """Raise where a part of a checkpoint is not what was written; torch itself does not look."""
    try:
        if not zipfile.is_zipfile(path):  # which raises for some damage, too
            return  # torch before 1.6 wrote another format, without sums
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
    except Exception as error:  # damage to the directory of an archive raises many kinds
        raise UserError(f'checkpoint {path} is damaged: {error}') from error
    if broken is not None:
        raise UserError(f'checkpoint {path} is damaged: the checksum of {broken} is wrong')


def weights_of(content: dict[str, Any]) -> dict[str, Tensor]:
    """The weights in a checkpoint, by the names that an unwrapped model has for them."""
    weights = content.get('state_dict', content)
    return {_current(name.removeprefix('module.')): value for name, value in weights.items()}


def _current(name: str) -> str:
    """The name of a weight in this version: the record of the phase has moved to the head."""
    return name.replace('head.covariance_branch._extra_state', 'head._extra_state')


def check_fit(
    model: torch.nn.Module, content: dict[str, Any], path: str | Path, whole: bool
) -> None:
    """Raise where the weights of a checkpoint do not fit ``model``.

    Args:
        model: The model, wrapped or not.
        content: What the checkpoint holds.
        path: Its file, to be named.
        whole: Whether every weight of the model must be there, as for a test. To start another
            training, it is enough that most of the checkpoint's weights fit: a head for other
            joints starts from new weights.
    """
    weights = weights_of(content)
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
