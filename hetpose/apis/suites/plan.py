"""The content of each suite, and the units that follow from a choice of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hetpose.datasets.regression import PROTOCOLS, UCI_SETS
from hetpose.errors import UserError, unknown_name
from hetpose.paths import config_root, existing

HELDOUT, PAPER = PROTOCOLS
BASELINE = 'homoscedastic'
ABLATIONS = 'ablations'  # the folder of methods with one thing changed
# Raise it where a change of code changes the numbers of a unit: stored units of another version
# run again. tests/apis/suites/test_version.py compares short runs with stored ones.
RESULTS_VERSION = 1

# Which units train as one stack. What a stack trained is stored when all of it is done.
MOST_TRIALS = 5
NARROW = 200  # the product of a layer of wider networks is worth a kernel of its own
NARROWEST = 100

# The order of tables and plots; methods of other names follow by name.
ORDER = (
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
    'recommended',
    'natural',
)


def known_methods(suite: str) -> tuple[str, ...]:
    """The methods of a suite: one for each config in its folder."""
    names = [path.stem for path in existing(config_root() / suite, 'configs').glob('*.py')]
    return tuple(sorted(names, key=rank))


def known_variants(suite: str) -> tuple[str, ...]:
    """The methods with one thing changed that a suite has: anchored-no_prior, for example."""
    return tuple(sorted(path.stem for path in (config_root() / suite / ABLATIONS).glob('*.py')))


def method_file(suite: str, method: str) -> Path:
    """The config of a method or a variant of one that a suite knows."""
    folder = config_root() / suite
    return (folder / ABLATIONS if base_of(method) else folder) / f'{method}.py'


def rank(method: str) -> tuple[int, str]:
    """The place of a method in tables and plots."""
    return (ORDER.index(method) if method in ORDER else len(ORDER), method)


def base_of(method: str) -> str | None:
    """The method that an ablation changes; None for a method that is none."""
    base, dash, _ = method.partition('-')
    return base if dash else None


@dataclass(frozen=True)
class Suite:
    """The defaults of a suite and every name it knows."""

    name: str
    datasets: tuple[str, ...]
    metrics: tuple[str, ...]
    trials: int
    epochs: int
    protocols: tuple[str, ...] = PROTOCOLS
    alike: bool = False  # whether its datasets have one shape, so that they can train together

    @cached_property
    def methods(self) -> tuple[str, ...]:
        return known_methods(self.name)

    def present(self, results: Iterable[Any]) -> list[str]:
        """The datasets of results, in the order of reports."""
        return sorted({result.unit.dataset for result in results}, key=self.place)

    def place(self, dataset: str) -> tuple[int, str]:
        """The place of a dataset in reports; tables of one's own come last."""
        known = dataset in self.datasets
        return (self.datasets.index(dataset) if known else len(self.datasets), dataset)


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            'bivariate',
            ('far', 'centred'),
            ('nll', 'kl', 'w2'),
            trials=1,
            epochs=100,
            protocols=(PAPER,),
        ),
        Suite(
            'univariate',
            ('growing', 'shrinking', 'constant'),
            ('mse', 'nll', 'kl', 'w2'),
            trials=1,
            epochs=100,
            alike=True,
        ),
        Suite(
            'multivariate',
            tuple(f'd{dim}' for dim in range(4, 33, 4)),
            ('mse', 'nll', 'tac', 'kl', 'w2'),
            trials=10,
            epochs=100,
        ),
        Suite('uci', UCI_SETS, ('mse', 'nll', 'tac'), trials=5, epochs=100),
    )
}


@dataclass(frozen=True)
class Settings:
    """The settings that all units of a report share; results of others are never mixed in."""

    suite: str
    protocol: str
    epochs: int
    warm_up: bool = False

    @property
    def folder(self) -> str:
        return f'{self.protocol}-{self.epochs}e' + ('-warmup' if self.warm_up else '')


@dataclass(frozen=True)
class Given:
    """Data and methods that a user adds to a suite.

    Args:
        root: folder of the CSV files of the twelve UCI sets; None is ``$HETPOSE_DATA/uci`` or
            ``data/uci``.
        tables: CSV files, studied by the uci suite under the names of the files.
        targets: columns of these files to predict, by name; empty draws them.
        methods: config files of methods, named like the files.
    """

    root: str | None = None
    tables: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    @property
    def datasets(self) -> dict[str, str]:
        """The files of the tables by the name of their dataset."""
        return _by_stem(self.tables, '--csv')

    @property
    def configs(self) -> dict[str, str]:
        """The config files by the name of their method."""
        return _by_stem(self.methods, '--methods')


def _by_stem(paths: Sequence[str], option: str) -> dict[str, str]:
    names = {Path(path).stem: str(Path(path).resolve()) for path in paths}
    if len(names) < len(paths):
        raise UserError(f'{option}: two files have the same name')
    return names


@dataclass(frozen=True)
class Unit:
    """One training run: a method on a dataset in a trial."""

    dataset: str
    method: str
    trial: int

    @property
    def name(self) -> str:
        return f'{self.dataset}/{self.method}/{self.trial}'

    @property
    def kind(self) -> tuple[str, str]:
        """The part of a unit that its trials share."""
        return self.dataset, self.method


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
    given: Given | None = None,
) -> list[Unit]:
    """Every (dataset, method, trial), trial by trial, so that an early stop leaves whole trials.

    The held-out protocol always includes the homoscedastic baseline if the suite has it. Tables
    and methods of one's own come on top of those that are named; tables alone stand for all.
    """
    given = given or Given()
    _refuse_known('--csv', given.datasets, suite.datasets)
    _refuse_known('--methods', given.configs, suite.methods)
    methods = list(
        dict.fromkeys([*(suite.methods if methods is None else methods), *given.configs])
    )
    datasets = list(dict.fromkeys([*(datasets or ()), *given.datasets])) or suite.datasets
    for kind, names, known in (
        ('method', methods, (*suite.methods, *known_variants(suite.name), *given.configs)),
        ('dataset', datasets, (*suite.datasets, *given.datasets)),
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


def _refuse_known(option: str, files: Iterable[str], known: Collection[str]) -> None:
    """A file with a name of the suite's own would be taken for what bears that name."""
    for name in files:
        if name in known:
            raise UserError(f'{option}: {name} is a name of the suite itself; rename the file')


def plan_stacks(
    suite: Suite, units: Sequence[Unit], sharing: Collection[str], widths: dict[str, int]
) -> list[list[Unit]]:
    """The units that train together, because their networks have one shape.

    Methods that share their mean do always, in each trial; trials do where networks are so small
    that a step is mostly overhead, and other methods where they are smaller still.

    Args:
        suite: theirs.
        units: all that are to run.
        sharing: the methods whose mean is that of the squared error.
        widths: of the networks, by dataset.
    """
    stacks: dict[tuple, list[Unit]] = {}
    for unit in units:
        width = widths[unit.dataset]
        shape = '' if suite.alike else unit.dataset
        trial = unit.trial // MOST_TRIALS if width <= NARROW else unit.trial
        method = unit.method if width > NARROWEST else 'others'
        kind = 'sharing' if unit.method in sharing else method
        stacks.setdefault((shape, trial, kind), []).append(unit)
    return list(stacks.values())
