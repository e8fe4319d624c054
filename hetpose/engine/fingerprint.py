"""Proof that the methods of a trial start alike."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from mmengine.config import Config
from mmengine.runner import Runner
from mmpose.registry import MODELS
from torch import Tensor

from hetpose.engine.suite import resolve


def fingerprint(config: Config, epochs: int = 2) -> dict[str, str]:
    """SHA-256 of what a run starts from and sees, from the config of a unit of a suite.

    Keys: 'mean' and 'covariance', the initial weights of the two networks; 'data', the inputs and
    targets of all splits (their columns and rows); 'batches', the batches of the first epochs.
    Runs that are compared must agree in all four.
    """
    config = resolve(config)
    model = MODELS.build(config.model)
    seed = config.randomness.seed
    loaders = [
        Runner.build_dataloader(config[f'{name}_dataloader'], seed=seed)
        for name in ('train', 'val', 'test')
    ]
    arrays = [loader.dataset.arrays for loader in loaders]
    return {
        'mean': _digest(model.mean_network.state_dict().values()),
        'covariance': _digest(model.covariance_network.state_dict().values()),
        'data': _digest(value for split in arrays for value in (split.x, split.y)),
        'batches': _digest(_batches(loaders[0], epochs)),
    }


def _batches(loader, epochs: int) -> Iterable[Tensor]:
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            yield from (batch['x'], batch['y'])


def _digest(tensors: Iterable[Tensor]) -> str:
    total = hashlib.sha256()
    for tensor in tensors:
        total.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return total.hexdigest()
