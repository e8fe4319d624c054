"""Random numbers that depend on the seed, the epoch and the sample, and on nothing else.

A sample is augmented by random numbers of its own. So a run gives the same numbers with any number
of workers, persistent or not, with one process or several, from any tool, and after a resume.
"""

from __future__ import annotations

import copy
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from mmengine.dist import get_rank
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmpose.registry import DATA_SAMPLERS, DATASETS, HOOKS
from torch.utils.data import Dataset, Sampler, get_worker_info

from hetpose.engine.children import die_with_parent

_KEYS = {'worker_init_fn', 'disable_subprocess_warning'}  # of mmengine's own start of a worker


def derived_seed(*parts: int) -> int:
    """A 32-bit seed from several integers; close integers give unrelated seeds."""
    return int(np.random.SeedSequence([part % 2**64 for part in parts]).generate_state(1)[0])


class Draw(int):
    """The index of a sample, with the seed of the random numbers that augment it."""

    seed: int

    def __new__(cls, index: int, seed: int = 0) -> Draw:
        draw = super().__new__(cls, index)
        draw.seed = seed
        return draw


@DATA_SAMPLERS.register_module()
class SeededSampler(Sampler):
    """Another sampler's indices, each with a seed from (base seed, epoch, index, repetition).

    Args:
        dataset, seed: as mmengine gives them to every sampler.
        sampler: config of the other sampler.
        base_seed: the run's.
    """

    def __init__(
        self, dataset: Any, sampler: dict, base_seed: int, seed: int | None = None
    ) -> None:
        self.sampler = DATA_SAMPLERS.build(sampler, default_args=dict(dataset=dataset, seed=seed))
        self.base_seed = base_seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Let the next iteration be that of an epoch."""
        self.epoch = epoch
        if hasattr(self.sampler, 'set_epoch'):
            self.sampler.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[Draw]:
        seen: Counter[int] = Counter()  # a sampler without end comes back to an index
        for index in self.sampler:
            yield Draw(index, derived_seed(self.base_seed, self.epoch, index, seen[index]))
            seen[index] += 1


@DATASETS.register_module()
class SeededDataset(Dataset):
    """Another data set, whose samples are made with the random numbers of their ``Draw``.

    Args:
        dataset: config of the other data set.
    """

    def __init__(self, dataset: dict) -> None:
        self.dataset = DATASETS.build(dataset)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        if not isinstance(index, Draw):
            return self.dataset[index]
        with _random_numbers(index.seed):
            return self.dataset[int(index)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__') or name == 'dataset':
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # A hook that exchanges the pipeline means that of the data set inside.
        if name == 'pipeline':
            setattr(self.dataset, name, value)
        else:
            super().__setattr__(name, value)


@contextmanager
def _random_numbers(seed: int) -> Iterator[None]:
    """Seed Python, numpy and torch; in the main process, give them back as they were."""
    in_worker = get_worker_info() is not None
    generator = torch.default_generator  # not the GPU's, which no data set uses
    if not in_worker:
        states = random.getstate(), np.random.get_state(), generator.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    generator.manual_seed(seed)
    try:
        yield
    finally:
        if not in_worker:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002
            generator.set_state(states[2])


def seeded_loader(loader: dict[str, Any], seed: int) -> dict[str, Any]:
    """The config of a training loader with seeded samples.

    A data set whose class has ``deterministic = True`` draws no random numbers and stays as it is.
    """
    kind = loader['dataset'].get('type')
    kind = DATASETS.get(kind) if isinstance(kind, str) else kind
    if getattr(kind, 'deterministic', False) or 'sampler' not in loader:
        return loader
    loader = copy.deepcopy(loader)
    loader['dataset'] = dict(type=SeededDataset, dataset=loader['dataset'])
    loader['sampler'] = dict(type=SeededSampler, sampler=loader['sampler'], base_seed=seed)
    return loader


def seed_training(runner: Runner) -> None:
    """Let a Runner that is not yet training draw the random numbers of this module."""
    if isinstance(runner._train_dataloader, dict):
        runner._train_dataloader = seeded_loader(runner._train_dataloader, runner.seed)
    runner.register_hook(EpochSeedHook())


@HOOKS.register_module()
class EpochSeedHook(Hook):
    """Seed every epoch's own random numbers, such as those of dropout, from (seed, rank, epoch).

    What a validation, or a run before a resume, has drawn makes no difference then.
    """

    priority = 'VERY_HIGH'

    def before_train_epoch(self, runner) -> None:
        seed = derived_seed(runner.seed, get_rank(), runner.epoch)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)


def start_worker(worker_id: int, seed: int, rank: int) -> None:
    """Prepare a worker process of a data loader; ``worker_init_fn`` of every loader.

    It dies with the run, ends without a word when the loader stops it, and starts with random
    numbers of its own.
    """
    die_with_parent()
    # Killed by the signal, it would be a fault to the loader: a trace at the end of every run
    # whose workers persist.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    own = derived_seed(seed, rank, worker_id)
    random.seed(own)
    np.random.seed(own)  # noqa: NPY002
    torch.manual_seed(own)


def start_workers_well(runner: Runner) -> None:
    """Let the loaders of a Runner start their workers by ``start_worker``.

    A config that has a ``worker_init_fn`` keeps it.
    """
    start = dict(type=start_worker, seed=runner.seed, rank=runner.rank)
    for name in ('train', 'val', 'test'):
        loader = getattr(runner, f'_{name}_dataloader')
        if isinstance(loader, dict) and not _KEYS & set(loader):
            setattr(runner, f'_{name}_dataloader', dict(loader, worker_init_fn=start))
