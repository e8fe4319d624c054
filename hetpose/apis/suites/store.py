"""Results of units on disk: one JSON file each, whole or absent."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hetpose.apis.suites.plan import Settings, Unit
from hetpose.errors import UserError
from hetpose.fileio import is_temporary, write_text

DONE, DIVERGED = 'done', 'diverged'
Digests = dict[tuple[str, str], str]  # by dataset and method


@dataclass
class Result:
    """The result of one unit.

    ``metrics`` were measured on the test part (heldout) or on the training data (paper);
    ``curve`` holds one dict per epoch; ``divergence`` tells where and why a method broke down.
    ``extra`` is what the suite's plots need (a fitted sinusoid, a path of ellipses).
    ``validation`` holds the metrics of the same weights on the middle part (heldout only), by
    which a method may be chosen. ``digest`` identifies configuration, data and version of the
    code; ``made`` tells how long it took and on what.
    """

    unit: Unit
    settings: Settings
    digest: str
    status: str = DONE
    metrics: dict[str, float | None] = field(default_factory=dict)
    validation: dict[str, float | None] = field(default_factory=dict)
    curve: list[dict[str, float | None]] = field(default_factory=list)
    cost: dict[str, float | None] = field(default_factory=dict)
    divergence: dict[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)

    def metric(self, name: str) -> float | None:
        """The value of a metric; infinite if the method diverged, None if it has no such value."""
        if self.status == DIVERGED:
            return math.inf
        return self.metrics.get(name)


def unit_path(folder: Path, unit: Unit) -> Path:
    return folder / 'units' / unit.dataset / f'{unit.method}-{unit.trial}.json'


def save(folder: Path, result: Result) -> None:
    text = json.dumps(strict(asdict(result)), ensure_ascii=False)
    write_text(unit_path(folder, result.unit), text + '\n')


def load(path: Path) -> Result:
    try:
        stored = json.loads(path.read_text(encoding='utf-8'))
        unit, settings = Unit(**stored.pop('unit')), Settings(**stored.pop('settings'))
        return Result(unit=unit, settings=settings, **stored)
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(
            f'{path} is not a stored unit ({error}); delete it to run it again'
        ) from error


def load_all(folder: Path) -> list[Result]:
    """Every stored result of one group of settings, in a fixed order."""
    paths = sorted((folder / 'units').glob('*/*.json'))
    return [load(path) for path in paths if not is_temporary(path)]


def load_current(folder: Path, digests: Digests | None = None) -> tuple[list[Result], list[str]]:
    """The stored results of one configuration each, and a sentence for what is left out.

    ``digests`` names the configuration by dataset and method; for others it is that of the newest
    unit.
    """
    results = load_all(folder)
    by_age = sorted(results, key=lambda r: unit_path(folder, r.unit).stat().st_mtime_ns)
    wanted = {result.unit.kind: result.digest for result in by_age} | (digests or {})
    old = Counter(r.unit.method for r in results if r.digest != wanted[r.unit.kind])
    notices = [f'{method}: {old[method]} units of another configuration' for method in old]
    return [r for r in results if r.digest == wanted[r.unit.kind]], notices


def groups(folder: Path) -> list[Path]:
    """The settings groups in an output folder, or the folder itself if it is one."""
    if (folder / 'units').is_dir():
        return [folder]
    found = sorted(path.parent for path in folder.glob('*/units'))
    if not found:
        raise UserError(f'no stored units in {folder}; give the --out folder of an earlier run')
    return found


def strict(value: Any) -> Any:
    """The value in seven figures; NaN and infinity, which JSON does not have, become None."""
    if isinstance(value, dict):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    if isinstance(value, float):
        return float(f'{value:.7g}') if math.isfinite(value) else None
    return value
