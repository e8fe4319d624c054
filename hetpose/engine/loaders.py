"""Data loaders whose bad samples are left out, counted and listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mmengine.dist import is_main_process
from mmengine.logging import print_log
from mmengine.runner import Runner
from torch.utils.data import DataLoader

from hetpose.datasets.guarded import build_guarded, tolerant
from hetpose.datasets.quarantine import FILE_NAME, Quarantine


def quarantine_for(
    config: Mapping[str, Any], split: str, folder: str | Path | None = None
) -> Quarantine:
    """The list of bad samples of a split, by the config's bad_samples and bad_samples_limit.

    Args:
        config: Its keys ``bad_samples`` ('skip', the default, or 'fail') and
            ``bad_samples_limit`` (a share, by default 0.05) are read.
        split: Name of the data.
        folder: Folder of the list; None keeps it in memory.
    """
    return Quarantine(
        None if folder is None else Path(folder) / FILE_NAME,
        split,
        config.get('bad_samples', 'skip'),
        config.get('bad_samples_limit', 0.05),
    )


def guarded_loader(
    loader: Mapping[str, Any],
    quarantine: Quarantine,
    build: Callable[[dict], DataLoader] = Runner.build_dataloader,
) -> DataLoader:
    """The data loader of a config, around a data set that leaves out its bad samples."""
    dataset = build_guarded(loader['dataset'], quarantine, is_main_process())
    return tolerant(build({**loader, 'dataset': dataset}))


def report_bad_samples(*loaders: Any) -> None:
    """Log how many samples were left out of each loader's data, where any were."""
    for loader in loaders:
        quarantine = getattr(getattr(loader, 'dataset', None), 'quarantine', None)
        if quarantine is not None and is_main_process():
            summary = quarantine.summary()
            if summary is not None:
                print_log(summary, logger='current', level=30)
