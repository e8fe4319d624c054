"""Both searches find what sorting all distances finds."""

import pytest
import torch

from hetpose.ops import neighbour_search
from hetpose.ops.neighbour_search import neighbour_blocks, smallest


def found(x: torch.Tensor, k: int, memory_limit: int = 2**30) -> tuple[torch.Tensor, torch.Tensor]:
    blocks = list(neighbour_blocks(x, k, memory_limit))
    assert [block.start for block in blocks[1:]] == [block.stop for block in blocks[:-1]]
    return (
        torch.cat([block.distances for block in blocks]),
        torch.cat([block.indices for block in blocks]),
    )


@pytest.mark.parametrize('columns', [1, 2, 6, 7, 20])
def test_the_nearest_of_all_pairs(columns: int) -> None:
    x = torch.randn(300, columns, dtype=torch.float64)
    distances, indices = found(x, 12)
    every = torch.cdist(x, x, compute_mode='donot_use_mm_for_euclid_dist').sort(dim=1)
    torch.testing.assert_close(distances, every.values[:, :12])
    assert torch.equal(indices, every.indices[:, :12])


@pytest.mark.parametrize('columns', [2, 20])
def test_small_blocks_change_nothing(columns: int) -> None:
    x = torch.randn(200, columns, dtype=torch.float64)
    for one, other in zip(found(x, 5), found(x, 5, memory_limit=40_000), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize('columns', [2, 20])
def test_a_far_origin_does_not_change_who_is_near(columns: int) -> None:
    x = torch.randn(200, columns, dtype=torch.float64)
    assert torch.equal(found(x + 1e6, 8)[1], found(x, 8)[1])


@pytest.mark.parametrize('columns', [2, 20])
def test_every_row_is_its_own_first_neighbour_among_duplicates(columns: int) -> None:
    x = torch.zeros(30, columns, dtype=torch.float64)
    distances, indices = found(x, 4)
    assert torch.equal(indices[:, 0], torch.arange(30))
    assert not distances.any()
    assert all(len(set(row)) == 4 for row in indices.tolist())


@pytest.mark.parametrize(('n', 'k'), [(5, 5), (50, 3), (1000, 7), (1003, 7)])
def test_smallest_is_a_sort(n: int, k: int) -> None:
    values = torch.randn(6, n)
    got, where = smallest(values, k)
    torch.testing.assert_close(got, values.sort(dim=1).values[:, :k])
    assert torch.equal(values.gather(1, where), got)


def test_low_dimensions_go_to_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    tree = neighbour_search._tree_blocks
    monkeypatch.setattr(
        neighbour_search, '_tree_blocks', lambda *args: used.append(1) or tree(*args)
    )
    found(torch.randn(20, 2), 3)
    found(torch.randn(20, 30), 3)
    assert used == [1]


@pytest.mark.parametrize('columns', [2, 7, 30])
def test_tight_clusters_far_apart(columns: int) -> None:
    generator = torch.Generator().manual_seed(0)
    centres = 1e6 * torch.randn(4, columns, generator=generator, dtype=torch.float64)
    x = centres.repeat(50, 1)
    x = x + 1e-2 * torch.randn(x.shape, generator=generator, dtype=torch.float64)
    distances, indices = found(x, 10)
    every = torch.cdist(x, x, compute_mode='donot_use_mm_for_euclid_dist').sort(dim=1)
    torch.testing.assert_close(distances, every.values[:, :10], rtol=1e-6, atol=0)
    assert torch.equal(indices, every.indices[:, :10])
