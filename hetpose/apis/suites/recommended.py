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
        if all(name in found and _has_ended(found[name]) for name in CANDIDATES):
            best = min(filter(_has_ended, found.values()), key=_validation_nll)
            unit = replace(best.unit, method=RECOMMENDED)
            chosen.append(replace(best, unit=unit, cost={}, divergence=None))
    return [*results, *chosen]


def _has_ended(result: Result) -> bool:
    """Whether it diverged, or has the number by which it may be chosen."""
    held_out = result.settings.protocol == HELDOUT
    return held_out and (result.status == DIVERGED or result.validation.get('nll') is not None)


def _validation_nll(result: Result) -> float:
    value = result.validation.get('nll')
    return math.inf if result.status == DIVERGED or value is None else value
