"""Same seed, same numbers: whatever the workers, the entry point and what came before."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers_suite import unit_config
from helpers_training import differing, pose_config, train
from torch.utils.data import Dataset

from hetpose.engine import launch
from hetpose.engine.seeding import Draw, SeededDataset, SeededSampler, derived_seed


class Noise(Dataset):
    """Samples of all three sources of random numbers."""

    def __init__(self, length: int = 6) -> None:
        self.length = length
        self.metainfo: dict = {}

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict:
        import random

        values = random.random(), np.random.rand(), torch.rand(()).item()  # noqa: NPY002
        return dict(index=index, values=values)


def epochs_of(workers: int, persistent: bool = False, count: int = 3, first: int = 0) -> list:
    """The batches of a training loader in some epochs."""
    from mmengine.runner import Runner

    from hetpose.engine.seeding import seeded_loader

    loader = dict(
        batch_size=2,
        num_workers=workers,
        persistent_workers=persistent,
        sampler=dict(type='DefaultSampler', shuffle=True),
        dataset=dict(type=Noise),
    )
    built = Runner.build_dataloader(seeded_loader(loader, seed=7), seed=7)
    seen = []
    for epoch in range(first, first + count):
        built.sampler.set_epoch(epoch)
        seen.append([batch for batch in built])
    return seen


def test_workers_make_no_difference() -> None:
    expected = epochs_of(0)
    assert epochs_of(2) == expected
    assert epochs_of(2, persistent=True) == expected
    assert epochs_of(0, count=1, first=2) == expected[2:]  # as after a resume
    batches = [batch['values'] for epoch in expected for batch in epoch]
    flat = [value for batch in batches for source in batch for value in source]
    assert len(set(flat)) == len(flat)  # no epoch and no sample repeats another


def test_the_main_process_keeps_its_own_random_numbers() -> None:
    dataset = SeededDataset(dict(type=Noise))
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    first = dataset[Draw(1, seed=5)]
    assert torch.equal(torch.rand(4), expected)
    assert dataset[Draw(1, seed=5)] == first
    assert dataset[Draw(1, seed=6)] != first
    assert len(dataset) == dataset.length == 6


def test_a_draw_is_an_index_that_travels() -> None:
    draw = pickle.loads(pickle.dumps(Draw(4, seed=9)))
    assert (draw, draw.seed, [10, 11, 12, 13, 14][draw]) == (4, 9, 14)


def test_an_endless_sampler_draws_again_when_it_comes_back() -> None:
    sampler = SeededSampler(range(3), dict(type='InfiniteSampler', shuffle=False), 7, seed=7)
    draws = [draw for draw, _ in zip(sampler, range(9), strict=False)]
    assert [int(draw) for draw in draws] == [0, 1, 2] * 3
    assert len({draw.seed for draw in draws}) == 9


def test_seeds_of_neighbours_differ() -> None:
    seeds = {derived_seed(a, b, c) for a in range(8) for b in range(8) for c in range(8)}
    assert len(seeds) == 512
    assert derived_seed(-1) == derived_seed(-1)


def batches(config, entry: str) -> list:
    runner = launch.build_runner(config)
    if entry == 'tool':
        launch.build_dataloaders(runner, 'train', 'val')
    loader = runner.build_train_loop(runner._train_loop).dataloader
    loader.sampler.set_epoch(1)
    return [batch['x'] for batch in loader]


def test_both_entry_points_see_the_same_batches(tmp_path: Path) -> None:
    """tools/train.py builds the loaders itself, run_suite leaves it to the Runner."""
    one, other = (batches(unit_config(tmp_path, 'nll'), entry) for entry in ('tool', 'suite'))
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.slow
def test_a_pose_run_is_the_same_with_and_without_workers(tmp_path: Path) -> None:
    alone = train(pose_config(tmp_path / 'a'))
    assert not differing(alone, train(pose_config(tmp_path / 'b')))
    assert not differing(alone, train(pose_config(tmp_path / 'c', workers=2)))


def test_a_hook_exchanges_the_pipeline_of_the_data_set_inside() -> None:
    made = SeededDataset.__new__(SeededDataset)
    made.dataset = type('Inner', (), {})()
    made.pipeline = 'second'
    assert made.dataset.pipeline == 'second'
    assert 'pipeline' not in vars(made)
