"""Tables as text: one writer for reports, the demo and the benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tabulate import tabulate


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, aligned for reading as it stands: names to the left, numbers to the right.

    The cells are strings: a number is formatted by who knows its precision.
    """
    return _write(header, rows, 'pipe', ['left', *['right'] * (len(header) - 1)])


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns with spaces between them, for a terminal."""
    return _write(header, rows, 'plain', ['left'] * len(header))


def _write(
    header: Sequence[str], rows: Iterable[Sequence[str]], form: str, align: Sequence[str]
) -> str:
    lines = tabulate(
        list(rows), header, form, colalign=align, disable_numparse=True, missingval=''
    )
    return '\n'.join(line.rstrip() for line in lines.splitlines())
