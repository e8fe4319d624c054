"""The time that the Runner adds to a bare training loop."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import DefaultSampler
from mmpose.registry import MODELS
from torch import nn

from hetpose.benchmarks.harness import Row, write_random_table
from hetpose.datasets.regression import load_splits
from hetpose.engine.optimizers import build_fused
from hetpose.engine.suite import SuiteRunner, resolve
from hetpose.paths import data_root, find_config

LIMIT = 1.3
CONFIG = 'uci/nll'
SHAPE = (4898, 12)  # of white wine; a random table of this shape stands in where it is absent


def unit_config(folder: Path, epochs: int) -> Config:
    """The config of a white wine run without its checkpoints."""
    config = Config.fromfile(str(find_config(CONFIG)))
    table = data_root('uci') / 'white_wine.csv'
    if not table.exists():
        table = folder / 'random.csv'
        write_random_table(table, *SHAPE)
    config.merge_from_dict({'dataset': str(table), 'epochs': epochs})
    config.work_dir = str(folder / 'work')
    config.log_level = 'WARNING'
    return config


def with_runner(config: Config) -> tuple[float, nn.Module]:
    """Seconds of ``Runner.train()``, hooks, logs, choice of weights and all, and its model."""
    runner = SuiteRunner.from_cfg(config)
    start = time.perf_counter()
    runner.train()
    return time.perf_counter() - start, runner.model


def bare(config: Config) -> tuple[float, nn.Module]:
    """Seconds of the shortest loop that takes the same steps on the same batches; its model."""
    resolved = resolve(config)
    train = load_splits(resolved.train_dataloader.dataset.source)['train']
    model = MODELS.build(resolved.model)
    optimizer = build_fused(dict(resolved.optim_wrapper.optimizer, params=model.parameters()))
    sampler = DefaultSampler(train.x, shuffle=True, seed=resolved.trial)  # type: ignore[arg-type]
    size = resolved.train_dataloader.batch_size
    start = time.perf_counter()
    model.train()
    for epoch in range(resolved.train_cfg.max_epochs):
        sampler.set_epoch(epoch)
        for rows in torch.tensor(list(sampler)).split(size):
            loss = model(train.x[rows], train.y[rows], mode='loss')['loss']
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return time.perf_counter() - start, model


def run(quick: bool = False) -> list[Row]:
    """Both loops in turn; the ratio of their medians."""
    epochs, repeats = (2, 1) if quick else (10, 3)
    with tempfile.TemporaryDirectory() as folder:
        config = unit_config(Path(folder), epochs)
        pairs = [(with_runner(config)[0], bare(config)[0]) for _ in range(repeats)]
    runner, loop = np.median(np.array(pairs), axis=0)
    ratio = float(runner / loop)
    metrics: dict[str, float | str] = {
        'runner s': float(runner),
        'bare loop s': float(loop),
        'ratio': ratio,
    }
    return [Row(f'{epochs} epochs', metrics, f'at most {LIMIT}', ratio <= LIMIT)]
