"""Run a regression suite and report it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hetpose.apis.suites.execute import config_digest, network_width, run_stack, shares_mean
from hetpose.apis.suites.plan import Given, Settings, Unit, find_suite, plan_stacks, plan_units
from hetpose.apis.suites.report import build_report
from hetpose.apis.suites.schedule import run_units
from hetpose.apis.suites.store import groups
from hetpose.errors import UserError

__all__ = ['Given', 'find_suite', 'rebuild_reports', 'run_suite']


def run_suite(
    name: str,
    out: Path,
    *,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    trials: int | None = None,
    epochs: int | None = None,
    protocol: str | None = None,
    warm_up: bool = False,
    jobs: int = 1,
    given: Given | None = None,
    alone: bool = False,
) -> tuple[Path, str]:
    """Run what is missing of a suite and write its report; returns its folder and the Markdown.

    Results lie in ``out/<protocol>-<epochs>e``, one folder per settings. With ``alone`` no units
    train together, so that the cost of every step is known.
    """
    suite = find_suite(name)
    if jobs < 1:
        raise UserError(f'--jobs must be at least 1, got {jobs}')
    settings = Settings(
        name,
        suite.protocols[0] if protocol is None else protocol,
        suite.epochs if epochs is None else epochs,
        warm_up,
    )
    units = plan_units(suite, settings, methods, datasets, trials, given)
    kinds = dict.fromkeys(unit.kind for unit in units)
    digests = {kind: config_digest(*kind, settings, given) for kind in kinds}
    folder = out / settings.folder

    def stacks(pending: Sequence[Unit]) -> list[list[Unit]]:
        names = dict.fromkeys(unit.dataset for unit in pending)
        widths = {name: network_width(name, settings, given) for name in names}
        methods = dict.fromkeys(unit.method for unit in pending)
        sharing = [method for method in methods if shares_mean(method, settings, given)]
        return plan_stacks(suite, pending, sharing, widths)

    run_units(run_stack, units, settings, folder, digests, given, jobs, None if alone else stacks)
    return folder, build_report(folder, digests)


def rebuild_reports(folder: Path) -> list[tuple[Path, str]]:
    """Write the reports of every settings group in a folder again, from its stored units."""
    return [(group, build_report(group)) for group in groups(folder)]
