"""What each suite holds, and the units that follow from a choice of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hetpose.datasets.regression import PROTOCOLS, UCI_SETS
from hetpose.errors import UserError, unknown_name

HELDOUT, PAPER = PROTOCOLS
BASELINE = 'homoscedastic'

METHODS = (
    'mse',
    BASELINE,
    'nll',
    'nll_diagonal',
    'beta_nll',
    'faithful',
    'kl',
    'w2',
    'w2_bound',
    'nll_tic',
    'hybrid',
    'anchored',
    'anchored_student',
)


@dataclass(frozen=True)
class Suite:
    """The defaults of a suite and every name it knows."""

    name: str
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    metrics: tuple[str, ...]
    trials: int
    epochs: int
    protocols: tuple[str, ...] = PROTOCOLS


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            'bivariate',
            ('nll', 'faithful', 'kl', 'w2', 'w2_bound'),
            ('far', 'centred'),
            ('nll', 'kl', 'w2'),
            trials=1,
            epochs=100,
            protocols=(PAPER,),
        ),
        Suite(
            'univariate',
            (*METHODS, 'natural'),
            ('growing', 'shrinking', 'constant'),
            ('mse', 'nll', 'kl', 'w2'),
            trials=1,
            epochs=100,
        ),
        Suite(
            'multivariate',
            METHODS,
            tuple(f'd{dim}' for dim in range(4, 33, 4)),
            ('mse', 'nll', 'tac', 'kl', 'w2'),
            trials=10,
            epochs=100,
        ),
        Suite('uci', METHODS, UCI_SETS, ('mse', 'nll', 'tac'), trials=5, epochs=100),
    )
}


@dataclass(frozen=True)
class Settings:
    """What a result depends on beside its unit; results with other settings are never mixed."""

    suite: str
    protocol: str
    epochs: int
    warm_up: bool = False

    @property
    def folder(self) -> str:
        return f'{self.protocol}-{self.epochs}e' + ('-warmup' if self.warm_up else '')


@dataclass(frozen=True)
class Unit:
    """One training run: a method on a dataset in a trial."""

    dataset: str
    method: str
    trial: int

    @property
    def name(self) -> str:
        return f'{self.dataset}/{self.method}/{self.trial}'


def find_suite(name: str) -> Suite:
    if name not in SUITES:
        raise unknown_name('suite', name, list(SUITES))
    return SUITES[name]


def plan_units(
    suite: Suite,
    settings: Settings,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    trials: int | None = None,
) -> list[Unit]:
    """Every (dataset, method, trial), trial by trial, so that an early stop leaves whole trials.

    The held-out protocol always includes the homoscedastic baseline if the suite has it.
    """
    methods = list(dict.fromkeys(methods or suite.methods))
    datasets = list(dict.fromkeys(datasets or suite.datasets))
    for kind, names, known in (
        ('method', methods, suite.methods),
        ('dataset', datasets, suite.datasets),
    ):
        for name in names:
            if name not in known:
                raise unknown_name(f'{suite.name} {kind}', name, list(known))
    if settings.protocol not in suite.protocols:
        raise unknown_name(f'{suite.name} protocol', settings.protocol, suite.protocols)
    if settings.epochs < 1:
        raise UserError(f'--epochs must be at least 1, got {settings.epochs}')
    trials = suite.trials if trials is None else trials
    if trials < 1:
        raise UserError(f'--trials must be at least 1, got {trials}')
    if settings.protocol == HELDOUT and BASELINE in suite.methods and BASELINE not in methods:
        methods.append(BASELINE)
    return [Unit(d, m, t) for t in range(trials) for d in datasets for m in methods]
