"""Predictions with their truth and their origin: read from a file, and split into two parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hetpose.apis.calibration.arrays import distribution_of
from hetpose.errors import UserError
from hetpose.ops.distribution import Distribution


@dataclass(frozen=True)
class Predictions:
    """Predictions with their truth, the names of their parts, and the model that made them."""

    data: Distribution
    names: tuple[str, ...]
    units: str = ''
    model: str | None = None
    weights: str | None = None
    groups: Tensor | None = None  # (N,) integers: samples of one image share theirs

    def __len__(self) -> int:
        return len(self.data)

    def select(self, index: Tensor) -> Predictions:
        """The samples of an index (n,)."""
        groups = None if self.groups is None else self.groups[index]
        return replace(self, data=self.data.select(index), groups=groups)


def split_samples(
    predictions: Predictions, fraction: float, seed: int
) -> tuple[Predictions, Predictions]:
    """A random part of the samples, for the fit, and the rest; no image is in both."""
    if not 0 < fraction < 1:
        raise UserError(f'the fraction for the fit must lie between 0 and 1, not {fraction}')
    size = len(predictions)
    groups = torch.arange(size) if predictions.groups is None else predictions.groups
    found, member = groups.unique(return_inverse=True)
    count = round(len(found) * fraction)
    if not 0 < count < len(found):
        kind = 'samples' if predictions.groups is None else 'images'
        raise UserError(f'{len(found)} {kind} are too few to split {fraction:.0%} off for the fit')
    order = torch.randperm(len(found), generator=torch.Generator().manual_seed(seed))
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(found))
    place = rank[member]
    sorted_rows = place.argsort(stable=True)
    chosen = place[sorted_rows] < count
    return predictions.select(sorted_rows[chosen]), predictions.select(sorted_rows[~chosen])


def read_arrays(path: str | Path, names: Sequence[str] = (), units: str = '') -> Predictions:
    """Predictions from an NPZ file with the arrays of ``hetpose.calibration``.

    It holds mean, cov and target, and may hold mask, degrees_of_freedom and names.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise UserError(f'cannot read arrays from {path}: it is not a file')
    try:
        with np.load(path, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
    except Exception as error:  # numpy's reader raises many kinds for a damaged archive
        raise UserError(f'cannot read arrays from {path}: {error}') from error
    missing = [name for name in ('mean', 'cov', 'target') if name not in arrays]
    if missing:
        raise UserError(
            f'{path} lacks {", ".join(missing)}; it holds {", ".join(sorted(arrays)) or "nothing"}'
        )
    try:
        data = distribution_of(
            arrays['mean'],
            arrays['cov'],
            arrays['target'],
            mask=arrays.get('mask'),
            degrees_of_freedom=arrays.get('degrees_of_freedom'),
        )
    except ValueError as error:
        raise UserError(f'{path}: {error}') from error
    count = data.dim // data.block
    found = tuple(str(n) for n in (names or arrays.get('names', ()))) or tuple(
        map(str, range(count))
    )
    if len(found) != count:
        raise UserError(f'{path}: {len(found)} names for {count} joints')
    return Predictions(data, found, units)
