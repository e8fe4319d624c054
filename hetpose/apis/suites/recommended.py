"""The method that we recommend: of two anchored ones, the better on data kept for choosing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hetpose.apis.suites.plan import HELDOUT
from hetpose.apis.suites.store import DONE, Result

RECOMMENDED = 'recommended'
CANDIDATES = ('anchored', 'anchored_student')


def with_recommended(results: Sequence[Result]) -> list[Result]:
    """The results, and for each dataset and trial that has all candidates the recommended one.

    That is the candidate with the lowest NLL on the middle part of the data (heldout protocol).
    Nothing is trained for it, and the test part is not looked at.
    """
    trained = {result.unit: result for result in results}
    chosen = []
    for unit in trained:
        if unit.method != CANDIDATES[0]:
            continue
        candidates = [trained.get(replace(unit, method=name)) for name in CANDIDATES]
        if all(_can_be_chosen(result) for result in candidates):
            best = min(candidates, key=lambda result: result.validation['nll'])  # type: ignore
            assert best is not None
            chosen.append(replace(best, unit=replace(unit, method=RECOMMENDED), cost={}))
    return [*results, *chosen]


def _can_be_chosen(result: Result | None) -> bool:
    return (
        result is not None
        and result.settings.protocol == HELDOUT
        and result.status == DONE
        and result.validation.get('nll') is not None
    )
