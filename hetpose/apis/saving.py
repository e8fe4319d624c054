"""Write a model as a config and a checkpoint that every command takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config

from hetpose.fileio import atomic_path, write_text


def write_model(config: Config, model: Any, metainfo: dict[str, Any], out: str | Path) -> None:
    """Write ``out/config.py`` and ``out/checkpoint.pth``; the config loads from the checkpoint.

    Args:
        config: the config of the model; its ``load_from`` is set.
        model: the network, which is moved to the CPU.
        metainfo: of the data set, which names the joints.
        out: the folder.
    """
    out = Path(out)
    config.load_from = str((out / 'checkpoint.pth').resolve())
    write_text(out / 'config.py', config.pretty_text)
    content = dict(meta=dict(dataset_meta=metainfo, epoch=0), state_dict=model.cpu().state_dict())
    with atomic_path(out / 'checkpoint.pth') as temporary:
        torch.save(content, temporary)
