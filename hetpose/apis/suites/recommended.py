"""The method that we recommend: of the anchored ones, the best on data kept for choosing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hetpose.apis.suites.plan import HELDOUT, base_of
from hetpose.apis.suites.store import DIVERGED, Result

RECOMMENDED = 'recommended'
CANDIDATES = ('anchored', 'anchored_student')
NOTE = (
    f'`{RECOMMENDED}` is, in every trial, that one of {", ".join(CANDIDATES)} and of their stored '
    'variants (another prior) whose NLL on the middle part of the data is lowest; the test part '
    'chooses nothing.'
)


def with_recommended(results: Sequence[Result], variants: Sequence[Result] = ()) -> list[Result]:
    """The results, and for each dataset and trial that has all candidates the recommended one.

    That is the candidate, or the variant of one, with the lowest NLL on the middle part of the
    data (heldout protocol). Nothing is trained for it, and the test part is not looked at. One
    that diverged is not chosen; the recommended one has diverged where all have.

    Args:
        results: under common settings.
        variants: ablations under the same settings, by which only the choice grows.
    """
    trained: dict[tuple[str, int], dict[str, Result]] = {}
    for result in [*variants, *results]:
        unit = result.unit
        if {unit.method, base_of(unit.method)} & set(CANDIDATES):
            trained.setdefault((unit.dataset, unit.trial), {})[unit.method] = result
    chosen = []
    for found in trained.values():
        known = {name: nll for name in found if (nll := _validation_nll(found[name])) is not None}
        if known.keys() >= set(CANDIDATES):
            best = found[min(known, key=known.__getitem__)]
            unit = replace(best.unit, method=RECOMMENDED)
            chosen.append(replace(best, unit=unit, cost={}, divergence=None))
    return [*results, *chosen]


def _validation_nll(result: Result) -> float | None:
    """The NLL by which it may be chosen: infinite if it diverged, None where there is none."""
    if result.settings.protocol != HELDOUT:
        return None
    return math.inf if result.status == DIVERGED else result.validation.get('nll')
