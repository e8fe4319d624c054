"""Tables of the UCI Machine Learning Repository."""

from __future__ import annotations

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
        kwargs: of RegressionSource.
    """

    standardise = True

    def __init__(self, name: str, root: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        name = str(name)
        if name not in UCI_SETS and not name.endswith('.csv'):
            raise unknown_name('data set', name, UCI_SETS)
        self.name = name
        self.path = Path(name) if name.endswith('.csv') else data_root('uci', root) / f'{name}.csv'

    @cached_property
    def table(self) -> np.ndarray:
        """The whole table, (N, columns)."""
        names, values = read_csv(self.path)
        inputs = self._inputs(values.shape[1])
        if inputs < 1:
            raise UserError(
                f'{self.path}: {len(names)} columns; a quarter of them must be at least one input'
            )
        needed = NEIGHBOURS_PER_DIMENSION * (values.shape[1] - inputs)
        if len(values) < needed:
            raise UserError(
                f'{self.path}: {len(values)} data rows; the pseudo-labels need k = {needed}'
            )
        return values

    @property
    def dims(self) -> tuple[int, int]:
        columns = self.table.shape[1]
        return self._inputs(columns), columns - self._inputs(columns)

    def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        order = rng.permutation(self.table.shape[1])
        inputs = self._inputs(len(order))
        return {'x': self.table[:, order[:inputs]], 'y': self.table[:, order[inputs:]]}

    @staticmethod
    def _inputs(columns: int) -> int:
        return int(INPUT_FRACTION * columns)

    def __str__(self) -> str:
        return f'{self.path} (trial {self.trial}, {self.protocol})'
