"""Packages that export names without importing what stands behind them (PEP 562)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def attach(
    package: str, exports: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make ``__getattr__``, ``__dir__`` and ``__all__`` of a package from a table.

    Args:
        package: Full name of the package, that is its ``__name__``.
        exports: For every exported name the full name of the module that defines it. A module that
            ends in the exported name itself is exported as a module.
    """

    def __getattr__(name: str) -> Any:
        if name not in exports:
            raise AttributeError(f'module {package!r} has no attribute {name!r}')
        module = importlib.import_module(exports[name])
        return module if exports[name] == f'{package}.{name}' else getattr(module, name)

    names = sorted(exports)
    return __getattr__, lambda: names, names
