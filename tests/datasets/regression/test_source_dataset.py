import pytest
import torch
from mmengine.runner import Runner

from hetpose.datasets.regression import RegressionDataset
from hetpose.errors import UserError

SOURCE = dict(type='BivariateSource', count=100)


def test_a_sliced_batch_is_the_collated_one() -> None:
    dataset = RegressionDataset(SOURCE)
    rows = [5, 0, 17]
    batch = dataset.__getitems__(rows)
    for name, value in batch.items():
        assert torch.equal(value, torch.stack([dataset[row][name] for row in rows]))


def test_the_loader_serves_every_row_once() -> None:
    config = dict(
        batch_size=32,
        num_workers=0,
        sampler=dict(type='DefaultSampler', shuffle=True),
        collate_fn=dict(type='whole_batch'),
        dataset=dict(type='mmpose.RegressionDataset', source=SOURCE),
    )
    loader = Runner.build_dataloader(config, seed=0)
    batches = [batch['y'] for batch in loader]
    assert all(isinstance(batch, torch.Tensor) for batch in batches)
    served = torch.cat(batches)
    assert torch.equal(served.sort(0).values, loader.dataset.arrays.y.sort(0).values)


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(UserError, match='unknown split'):
        RegressionDataset(SOURCE, split='dev')
