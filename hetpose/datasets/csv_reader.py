"""Numeric tables from CSV files, with errors that name the file, the column and the row."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from hetpose.errors import UserError
from hetpose.paths import existing_file


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
            f'{path}: only one column ({names[0]!r}); need at least one input and one target'
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
