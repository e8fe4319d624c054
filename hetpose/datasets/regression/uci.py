"""Tables of the UCI Machine Learning Repository, and of one's own, from CSV files.

Errors name the file, the column and the row.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from mmpose.registry import DATASETS

from hetpose.datasets.regression.source import NEIGHBOURS_PER_DIMENSION, RegressionSource
from hetpose.errors import UserError, unknown_name
from hetpose.paths import data_root, existing_file

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
            if self.columns.count(name) > 1:
                raise UserError(f'{self.path}: more than one column is named {name!r}')
        return total - len(self.targets), len(self.targets)

    def __str__(self) -> str:
        return f'{self.path} (trial {self.trial}, {self.protocol})'


def read_csv(path: str | Path, minimum_rows: int = 1) -> tuple[list[str], np.ndarray]:
    """Column names and values (rows, columns) of a CSV file with a header row.

    Rows are counted as an editor shows them: the header is row 1. ``minimum_rows`` is what the
    caller needs, for instance the number of neighbours k of the pseudo-labels.
    """
    path = existing_file(path, 'table')
    try:
        with path.open(newline='', encoding='utf-8-sig') as handle:
            lines = [(number, line) for number, line in enumerate(csv.reader(handle), 1) if line]
    except (UnicodeDecodeError, csv.Error, IsADirectoryError) as error:
        raise UserError(f'{path} is not a CSV file in UTF-8: {error}') from error
    if not lines:
        raise UserError(f'{path}: the file is empty; expected a header row and numbers')
    names = [name.strip() for name in lines[0][1]]
    if len(names) < 2:
        raise UserError(
            f'{path}: only one column ({names[0]!r}); need at least one input and one target, '
            'with commas between them'
        )
    if len(lines) - 1 < minimum_rows:
        raise UserError(f'{path}: {len(lines) - 1} data rows; at least {minimum_rows} are needed')
    return names, _parse(path, names, lines[1:])


def _parse(path: Path, names: list[str], lines: list[tuple[int, list[str]]]) -> np.ndarray:
    widths = {len(line) for _, line in lines}
    if widths == {len(names)}:
        try:
            values = np.array([line for _, line in lines], dtype=np.float64)
        except ValueError:
            pass
        else:
            if np.isfinite(values).all():
                return values
    raise UserError(f'{path}: {_first_fault(names, lines)}')


def _first_fault(names: list[str], lines: list[tuple[int, list[str]]]) -> str:
    """A description of the first bad row, of which there must be one."""
    for number, line in lines:
        if len(line) != len(names):
            return f'row {number} has {len(line)} columns, the header has {len(names)}'
        for name, cell in zip(names, line, strict=True):
            try:
                finite = np.isfinite(float(cell))
            except ValueError:
                return f'column {name!r}, row {number}: {cell!r} is not a number'
            if not finite:
                return (
                    f'column {name!r}, row {number}: {cell!r} is not finite; drop or fill the row'
                )
    raise AssertionError('a fault was announced, but every cell is a finite number')
