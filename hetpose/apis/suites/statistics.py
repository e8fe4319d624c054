"""Means over trials and the test for a tie."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

LEVEL = 0.05
FEWEST = 3  # trials; of two nearly no difference is significant


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation over the trials that gave a value."""

    mean: float
    std: float
    count: int
    diverged: int
    missing: int = 0  # trials that other methods have
    best: bool = False

    @property
    def whole(self) -> bool:
        """Whether the mean is over every trial, so that means can be compared."""
        return self.count > 0 and not self.diverged and not self.missing


def summarise(cells: Mapping[str, Mapping[int, float]]) -> dict[str, Summary]:
    """Per method: its summary over trials, and whether it is the best or tied with it.

    ``cells[method][trial]`` is a value, lower is better, infinite where the method diverged. A
    method with a diverged trial, or without a trial that another has, cannot be best.
    """
    every = {trial for values in cells.values() for trial in values}
    summaries = {}
    for method, values in cells.items():
        finite = np.array([v for v in values.values() if math.isfinite(v)])
        mean = float(finite.mean()) if len(finite) else math.inf
        std = float(finite.std(ddof=1)) if len(finite) > 1 else 0.0
        missing = len(every - set(values))
        summaries[method] = Summary(mean, std, len(finite), len(values) - len(finite), missing)
    whole = {m: s.mean for m, s in summaries.items() if s.whole}
    if not whole:
        return summaries
    winner = min(whole, key=whole.__getitem__)
    return {
        method: replace(s, best=s.whole and tied(cells[winner], cells[method]))
        for method, s in summaries.items()
    }


def tied(first: Mapping[int, float], second: Mapping[int, float]) -> bool:
    """Whether two methods, run in the same trials, cannot be told apart at the 5% level.

    Trials share data, weights and batches, so the test is the paired t-test. Fewer than three
    trials allow no test: then only equal means tie.
    """
    difference = np.array([first[trial] - second[trial] for trial in first])
    if len(difference) < FEWEST:
        return bool(np.mean(list(first.values())) == np.mean(list(second.values())))
    if np.ptp(difference) == 0:  # no spread: the test statistic is 0/0 or infinite
        return bool(difference[0] == 0)
    return bool(stats.ttest_1samp(difference, 0.0).pvalue > LEVEL)
