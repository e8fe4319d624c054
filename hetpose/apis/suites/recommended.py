"""The method that we recommend: of the anchored ones, the best on data kept for choosing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hetpose.apis.suites.plan import HELDOUT, base_of
from hetpose.apis.suites.store import DONE, Result

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
    data (heldout protocol). Nothing is trained for it, and the test part is not looked at.

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
        if all(_can_be_chosen(found.get(name)) for name in CANDIDATES):
            able = [result for result in found.values() if _can_be_chosen(result)]
            best = min(able, key=lambda result: result.validation['nll'])  # type: ignore
            chosen.append(replace(best, unit=replace(best.unit, method=RECOMMENDED), cost={}))
    return [*results, *chosen]


def _can_be_chosen(result: Result | None) -> bool:
    return (
        result is not None
        and result.settings.protocol == HELDOUT
        and result.status == DONE
        and result.validation.get('nll') is not None
    )
