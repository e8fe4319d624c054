"""Sources of the arrays of a regression suite, their splits, and a split as a data set.

Axes: N samples, m inputs, d targets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from mmengine.registry import FUNCTIONS
from mmpose.registry import DATASETS
from torch import Tensor
from torch.utils.data import Dataset

from hetpose.errors import UserError, unknown_name
from hetpose.ops.neighbours import pseudo_covariances
from hetpose.ops.spd import symmetric_sqrt

NEARLY_CONSTANT = 1e-12  # range of a column, relative to its largest value
PROTOCOLS = ('heldout', 'paper')
SPLITS = ('train', 'val', 'test')
HELDOUT_FRACTIONS = (0.8, 0.1, 0.1)
NEIGHBOURS_PER_DIMENSION = 10  # k = 10 d
SPLIT_STREAM = 1  # keeps the split's random stream apart from the source's own


@dataclass
class Arrays:
    """Aligned arrays of one split; what is unknown is None.

    Shapes: x (N, m), y (N, d), target_root (N, d, d) the symmetric root of Σ̃, true_mean (N, d),
    true_covariance (N, d, d).
    """

    x: Tensor
    y: Tensor
    target_root: Tensor | None = None
    true_mean: Tensor | None = None
    true_covariance: Tensor | None = None

    def __len__(self) -> int:
        return len(self.x)

    def take(self, index: Any) -> Arrays:
        """The rows of an index, a slice or a list."""
        return Arrays(**{name: value[index] for name, value in self.present().items()})

    def present(self) -> dict[str, Tensor]:
        """The arrays that are known, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if value is not None}


class RegressionSource(ABC):
    """Draws the whole data of one trial; the same arguments give the same arrays.

    Args:
        trial: seed of everything that is random in the data.
        protocol: 'heldout' (80/10/10 by seed) or 'paper' (train, val and test are all samples).
        pseudo_labels: give the training split target covariances.
        local_linear: take pseudo-labels from the residuals of a local linear fit.
    """

    standardise: bool = False

    def __init__(
        self,
        trial: int = 0,
        protocol: str = 'heldout',
        pseudo_labels: bool = True,
        local_linear: bool = False,
    ) -> None:
        if protocol not in PROTOCOLS:
            raise unknown_name('protocol', protocol, PROTOCOLS)
        self.trial = int(trial)
        self.protocol = protocol
        self.pseudo_labels = pseudo_labels
        self.local_linear = local_linear

    @property
    @abstractmethod
    def dims(self) -> tuple[int, int]:
        """m and d, without drawing the data."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """x, y and, where known, true_mean and true_covariance, in float64."""

    def arrays(self) -> dict[str, Arrays]:
        """The three splits in float32, the training one with pseudo-labels."""
        drawn = self.draw(np.random.default_rng(self.trial))
        index = self._split(len(drawn['x']))
        if self.standardise:
            for name in ('x', 'y'):
                drawn[name] = _standardised(drawn[name], index['train'])
        whole = Arrays(**{name: torch.from_numpy(value) for name, value in drawn.items()})
        splits = {name: whole.take(torch.from_numpy(rows)) for name, rows in index.items()}
        if self.pseudo_labels:
            splits['train'].target_root = self.target_root(splits['train'])
        return {
            name: Arrays(**{key: value.float() for key, value in split.present().items()})
            for name, split in splits.items()
        }

    def target_root(self, train: Arrays) -> Tensor:
        """Symmetric roots of the pseudo-labels Σ̃ of the training samples, (N, d, d)."""
        dim = train.y.shape[-1]
        neighbours = NEIGHBOURS_PER_DIMENSION * dim
        if len(train) < neighbours:
            raise UserError(
                f'{self}: {len(train)} training samples; pseudo-labels of dimension {dim} need '
                f'k = {neighbours} neighbours'
            )
        labels = pseudo_covariances(train.x, train.y, local_linear=self.local_linear)
        return symmetric_sqrt(labels)

    def _split(self, count: int) -> dict[str, np.ndarray]:
        if self.protocol == 'paper':
            return {name: np.arange(count) for name in SPLITS}
        order = np.random.default_rng([self.trial, SPLIT_STREAM]).permutation(count)
        ends = np.cumsum([int(fraction * count) for fraction in HELDOUT_FRACTIONS[:2]])
        return dict(zip(SPLITS, np.split(order, ends), strict=True))

    def __str__(self) -> str:
        return f'{type(self).__name__} (trial {self.trial}, {self.protocol})'


def _standardised(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Zero mean and unit variance over ``rows``, in whatever unit; a constant column becomes zero.

    Shapes: values (N, columns), rows (n,) -> (N, columns).
    """
    # A power of two changes no digit, and no square of what is left overflows or vanishes.
    values = np.ldexp(values, -np.frexp(np.abs(values).max(0))[1])
    chosen = values[rows]
    mean, deviation = chosen.mean(0), chosen.std(0)
    # A constant column has a range of 0; its deviation is not quite that, for its mean is rounded.
    constant = np.ptp(chosen, axis=0) <= NEARLY_CONSTANT * np.abs(chosen).max(0)
    centre = np.where(constant, chosen[0], mean)
    return (values - centre) / np.where(constant, 1.0, deviation)


def build_source(config: dict[str, Any]) -> RegressionSource:
    """The source that a config describes."""
    return DATASETS.build(dict(config))


def load_splits(config: dict[str, Any]) -> dict[str, Arrays]:
    """The splits of a source, drawn once per process: pseudo-labels of large sets take seconds."""
    items = ((key, tuple(v) if isinstance(v, list) else v) for key, v in config.items())
    return _load(tuple(sorted(items)))


@lru_cache(maxsize=8)  # those of units that train together
def _load(items: tuple[tuple[str, Any], ...]) -> dict[str, Arrays]:
    return build_source(dict(items)).arrays()


@DATASETS.register_module()
class RegressionDataset(Dataset):
    """Rows of a split. A batch is one index operation per array: use it with ``whole_batch``.

    Keys of a batch: x (B, m), y (B, d), and where known target_root, true_mean, true_covariance.

    Args:
        source: config of a registered regression source.
        split: 'train', 'val' or 'test'.
    """

    deterministic = True  # it draws no random numbers

    def __init__(self, source: dict[str, Any], split: str = 'train') -> None:
        if split not in SPLITS:
            raise unknown_name('split', split, SPLITS)
        self.arrays = load_splits(source)[split]
        self._present = self.arrays.present()
        self.metainfo = {'source': dict(source), 'split': split}

    def __len__(self) -> int:
        return len(self.arrays)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {name: value[index] for name, value in self._present.items()}

    def __getitems__(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """The batch of the given rows."""
        rows = torch.as_tensor(indices)
        return {name: value.index_select(0, rows) for name, value in self._present.items()}


@FUNCTIONS.register_module()
def whole_batch(batch: Any) -> Any:
    """The collate function of a data set whose ``__getitems__`` already returns a batch."""
    return batch
