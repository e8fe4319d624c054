"""Tables of the UCI Machine Learning Repository."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from mmpose.registry import DATASETS

from hetpose.datasets.csv_reader import read_csv
from hetpose.datasets.regression.source import NEIGHBOURS_PER_DIMENSION, RegressionSource
from hetpose.errors import UserError, unknown_name
from hetpose.paths import data_root

UCI_SETS = (
    'abalone',
    'air',
    'appliances',
    'concrete',
    'electrical',
    'energy',
    'gas',
    'naval',
    'parkinson',
    'power',
    'red_wine',
    'white_wine',
)
INPUT_FRACTION = 0.25


@DATASETS.register_module()
class UCISource(RegressionSource):
    """A random quarter of a table's columns, int(0.25 · columns), predicts the rest.

    Args:
        name: one of the twelve sets, or the path of a numeric CSV file with a header row.
        root: folder of the CSV files; None is ``$HETPOSE_DATA/uci`` or ``data/uci``.
        targets: names of the columns to predict from all others; None draws them.
        kwargs: of RegressionSource.
    """

    standardise = True

    def __init__(
        self,
        name: str,
        root: str | None = None,
        targets: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        name = str(name)
        self.targets = None if targets is None else tuple(dict.fromkeys(targets))
        if name not in UCI_SETS and not name.endswith('.csv'):
            raise unknown_name('data set', name, UCI_SETS)
        self.name = name
        self.path = Path(name) if name.endswith('.csv') else data_root('uci', root) / f'{name}.csv'

    @cached_property
    def table(self) -> np.ndarray:
        """The whole table, (N, columns)."""
        self.columns, values = read_csv(self.path)
        inputs, targets = self._counts(values.shape[1])
        if inputs < 1:
            rule = 'at least one must be' if self.targets else 'a quarter of them must be at least'
            raise UserError(f'{self.path}: {len(self.columns)} columns; {rule} one input')
        needed = NEIGHBOURS_PER_DIMENSION * targets
        if len(values) < needed:
            raise UserError(
                f'{self.path}: {len(values)} data rows; the pseudo-labels need k = {needed}'
            )
        return values

    @property
    def dims(self) -> tuple[int, int]:
        return self._counts(self.table.shape[1])

    def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        order = rng.permutation(self.table.shape[1])
        inputs, _ = self._counts(len(order))
        if self.targets is not None:
            chosen = [self.columns.index(name) for name in self.targets]
            order = np.array([i for i in range(len(order)) if i not in chosen] + chosen)
        return {'x': self.table[:, order[:inputs]], 'y': self.table[:, order[inputs:]]}

    def _counts(self, total: int) -> tuple[int, int]:
        """How many of all columns are inputs, and how many targets."""
        if self.targets is None:
            inputs = int(INPUT_FRACTION * total)
            return inputs, total - inputs
        for name in self.targets:
            if name not in self.columns:
                raise unknown_name(f'column of {self.path}', name, self.columns)
        return total - len(self.targets), len(self.targets)

    def __str__(self) -> str:
        return f'{self.path} (trial {self.trial}, {self.protocol})'
