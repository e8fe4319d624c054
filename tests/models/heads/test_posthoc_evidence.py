"""The evidence that is read from the outputs of each kind of head."""

import pytest
import torch

from hetpose.errors import UserError
from hetpose.models.heads.posthoc_evidence import (
    MOST_FEATURES,
    joint_evidence,
    last_features,
    pooled_features,
    pooling_grid,
)
from hetpose.ops.spread import STATISTICS, map_statistics

JOINTS = 3


@pytest.mark.parametrize('channels', [8, 24, 384, 768, 2048, 100_000])
def test_the_grid_keeps_the_pooled_features_few(channels):
    grid = pooling_grid(channels)
    assert 1 <= grid <= 4
    assert grid == 1 or channels * grid**2 <= MOST_FEATURES


def test_pooling_is_the_mean_over_each_place():
    features = torch.randn(2, 5, 8, 6)
    pooled = pooled_features((torch.zeros(1), features), 2).unflatten(1, (5, 2, 2))
    assert torch.allclose(pooled[:, :, 0, 1], features[:, :, :4, 3:].mean((-2, -1)))


def test_vectors_need_no_places():
    vector = torch.randn(2, 5, 1, 1)
    assert torch.equal(pooled_features((vector,), 1), vector.flatten(1))
    assert torch.equal(pooled_features(vector[..., 0, 0], 1), vector.flatten(1))


def test_the_last_map_of_nested_stages_is_taken():
    first, second = torch.randn(2), torch.randn(2)
    assert last_features([[first, first], (first, second)]) is second


def test_every_form_of_output_gives_the_same_number_of_statistics():
    maps = torch.rand(2, JOINTS, 16, 12)
    outputs = {
        'heatmaps': maps,
        'stages': [torch.rand(2, JOINTS, 16, 12), maps],
        'combined': torch.rand(2, 3 * JOINTS, 16, 12),
        'vectors': (torch.rand(2, JOINTS, 24), torch.rand(2, JOINTS, 32)),
        'coordinates': torch.rand(2, JOINTS, 2),
        'with_sigma': torch.randn(2, JOINTS, 4),
        'integrated': (torch.rand(2, JOINTS, 2), maps),
    }
    found = {name: joint_evidence(value, JOINTS) for name, value in outputs.items()}
    for statistics in found.values():
        assert statistics.shape == (2, JOINTS, STATISTICS)
        assert statistics.isfinite().all()
    assert torch.equal(found['stages'], map_statistics(maps))
    assert torch.equal(found['integrated'][..., :2], outputs['integrated'][0])
    assert torch.equal(found['integrated'][..., 2:], found['stages'][..., 2:])
    sigma = outputs['with_sigma'][..., 2:].sigmoid()
    assert torch.allclose(found['with_sigma'][..., 5:7], sigma.log())


@pytest.mark.parametrize(
    'outputs', [torch.rand(2, 5, 16, 12), torch.rand(2, JOINTS, 3), {'maps': 1}, (torch.rand(1),)]
)
def test_unknown_outputs_are_one_line(outputs):
    with pytest.raises(UserError, match='cannot read') as caught:
        joint_evidence(outputs, JOINTS)
    assert '\n' not in str(caught.value)
