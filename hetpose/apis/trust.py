"""A way in for an old checkpoint: run its pickle once, by request, and keep only its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hetpose.engine.checkpoint import read_checkpoint
from hetpose.errors import UserError
from hetpose.fileio import atomic_path


def keep_weights(path: str | Path, out: str | Path) -> int:
    """Write the weights of a trusted checkpoint to a file that loads without running code.

    This executes whatever code the pickle in ``path`` carries. The new file holds the weights by
    name under ``state_dict``, as mmengine writes them, and nothing else; the number of weights is
    returned.
    """
    if not Path(path).is_file():
        raise UserError(f'checkpoint not found: {path}')
    try:
        content = torch.load(path, map_location='cpu', weights_only=False)
    except Exception as error:  # torch raises many kinds, and so may the code of the file
        raise UserError(
            f'checkpoint {path} cannot be read even as a program: {type(error).__name__}: {error}'
        ) from error
    weights = _weights(content)
    if not weights:
        raise UserError(f'checkpoint {path} holds no weights by name')
    with atomic_path(out) as temporary:
        torch.save({'state_dict': weights}, temporary)
        read_checkpoint(temporary)  # it loads as every other checkpoint does
    return len(weights)


def _weights(content: Any) -> dict[str, Tensor]:
    """The tensors by name in a state dict, a checkpoint around one, or a whole pickled model."""
    if isinstance(content, torch.nn.Module):
        content = content.state_dict()
    if isinstance(content, dict):
        content = content.get('state_dict', content.get('model', content))
    if isinstance(content, torch.nn.Module):
        content = content.state_dict()
    if not isinstance(content, dict):
        return {}
    return {k: v.detach().clone() for k, v in content.items() if isinstance(v, Tensor)}
