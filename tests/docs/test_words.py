"""Docstrings and comments are plain sentences: words and forms that were retired stay away."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / 'hetpose').glob('**/*.py'))
RETIRED = re.compile(r'\b(mend(s|ed|ing)?|anew|beside|says?)\b', re.IGNORECASE)
CLAUSE = re.compile(r'(What|That|Which|Who|Those) ')
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    """The line of each documented thing, and its docstring."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and (found := ast.get_docstring(node)):
            yield getattr(node, 'lineno', 1), found


def comments(text: str) -> Iterator[tuple[int, str]]:
    """The line and the text of each comment."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def faults(text: str) -> list[str]:
    """The places of a source that break the rules, in words."""
    prose = [*docstrings(text), *comments(text)]
    found = [
        f'line {line}: the word {match.group()!r}'
        for line, part in prose
        for match in RETIRED.finditer(part)
    ]
    return found + [
        f'line {line}: a clause in place of a sentence, {part.splitlines()[0]!r}'
        for line, part in docstrings(text)
        if CLAUSE.match(part)
    ]


@pytest.mark.parametrize('path', SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_retired_words_stay_away(path: Path) -> None:
    assert not faults(path.read_text(encoding='utf-8'))


@pytest.mark.parametrize(
    'text',
    [
        '"""Mends a matrix."""\n',
        'def f():\n    """What a unit gave."""\n',
        'x = 1  # the column beside it\n',
        'class A:\n    """A file that says why."""\n',
    ],
)
def test_the_check_sees_them(text: str) -> None:
    assert faults(text)


def test_plain_sentences_pass() -> None:
    assert not faults('"""The result of one unit."""\n\nsay = beside = 1  # names are not prose\n')
