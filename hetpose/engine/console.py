"""The start of a run in a terminal: one line; the log file keeps all of it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mmengine.runner import Runner

# How the records begin by which mmengine describes a run, in hundreds of lines.
DESCRIPTIONS = ('System environment:', 'Config:\n', 'Hooks will be executed')


class _NoDescriptions(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage().lstrip('\n-')
        return not text.startswith(DESCRIPTIONS)


@contextmanager
def short_start() -> Iterator[None]:
    """Within it, a Runner describes its config, environment and hooks to its log file only."""
    original = Runner.build_logger

    def build_logger(self: Runner, *args: Any, **kwargs: Any) -> Any:
        logger = original(self, *args, **kwargs)
        for handler in logger.handlers:
            if isinstance(handler, logging.FileHandler):
                handler.handleError = _raise  # type: ignore[method-assign]
            else:
                handler.addFilter(_NoDescriptions())
        return logger

    Runner.build_logger = build_logger  # type: ignore[method-assign]
    try:
        yield
    finally:
        Runner.build_logger = original


def _raise(record: logging.LogRecord) -> None:
    """End a run whose log cannot be written; logging would print a trace for every record."""
    error = sys.exc_info()[1]
    if isinstance(error, OSError):
        raise error


def describe(runner: Runner) -> None:
    """The line in place of the descriptions: where they are."""
    files = [h.baseFilename for h in runner.logger.handlers if hasattr(h, 'baseFilename')]
    if files:
        runner.logger.info(f'config, environment and hooks stand in {files[0]}')
