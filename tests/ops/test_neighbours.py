import numpy as np
import pytest
import torch

from hetpose.ops import neighbour_search
from hetpose.ops.neighbours import nearest_neighbours, pseudo_covariances, whiten


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def dense(x, k):
    """Sorted distances of the k nearest, from all differences."""
    differences = x.double().unsqueeze(1) - x.double().unsqueeze(0)
    return differences.square().sum(-1).sqrt().sort(1).values[:, :k]


def algorithm_one(x, y, k, squared=False):
    """Algorithm 1 row by row, from its formulas, for x of full rank."""
    x, y = x.double(), y.double()
    precision = torch.linalg.pinv(torch.cov(x.mT).reshape(x.shape[1], -1))
    found = []
    for i in range(len(x)):
        difference = x - x[i]
        distance = ((difference @ precision) * difference).sum(1).clamp(min=0).sqrt()
        near = distance.argsort()[:k]
        weights = torch.softmax(-(distance[near] ** (2 if squared else 1)), 0)
        residual = y[near] - weights @ y[near]
        found.append(residual.mT @ (weights.unsqueeze(1) * residual))
    return torch.stack(found)


@pytest.mark.parametrize('memory_limit', [2**30, 1])
@pytest.mark.parametrize('dtype', [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ('n', 'm', 'k'),
    [(200, 2, 9), (300, 6, 20), (300, 7, 20), (700, 40, 5), (50, 20, 50), (1, 9, 4)],
)
def test_neighbours_are_exact(n, m, k, dtype, memory_limit):
    x = torch.randn(n, m, dtype=dtype)
    distances, indices = nearest_neighbours(x, k, memory_limit)
    k = min(k, n)
    assert distances.shape == indices.shape == (n, k)
    torch.testing.assert_close(distances.double(), dense(x, k), rtol=1e-6, atol=1e-12)
    again = (x.double()[indices] - x.double().unsqueeze(1)).square().sum(-1).sqrt()
    torch.testing.assert_close(distances.double(), again, rtol=1e-6, atol=1e-12)
    assert torch.equal(indices[:, 0], torch.arange(n))
    assert all(len(set(row)) == k for row in indices.tolist())


@pytest.mark.parametrize('m', [2, 12])
def test_duplicates_and_grids(m):
    x = torch.randint(0, 2, (400, m)).double()
    x[:100] = x[0]
    distances, indices = nearest_neighbours(x, 10)
    torch.testing.assert_close(distances, dense(x, 10))
    assert torch.equal(indices[:, 0], torch.arange(400))
    assert all(len(set(row)) == 10 for row in indices.tolist())
    for one, other in zip(nearest_neighbours(x, 10), (distances, indices), strict=True):
        assert torch.equal(one, other)


def test_both_searches_agree(monkeypatch):
    x = torch.randn(500, 4, dtype=torch.float64)
    tree = nearest_neighbours(x, 30)
    monkeypatch.setattr(neighbour_search, 'TREE_DIMENSIONS', 0)
    product = nearest_neighbours(x, 30)
    assert torch.equal(tree[1], product[1])
    torch.testing.assert_close(tree[0], product[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize('far', [1e6, 1e9])
def test_a_distant_origin_costs_no_digits(far):
    """Where |a|² + |b|² − 2ab cancels, distances come from differences."""
    x = torch.randn(60, 9, dtype=torch.float64) * 1e-3 + far
    distances, _ = nearest_neighbours(x, 60)
    torch.testing.assert_close(distances, dense(x, 60), rtol=1e-9, atol=0)


@pytest.mark.parametrize(('n', 'k'), [(10, 10), (97, 3), (1000, 7), (1001, 100)])
def test_smallest_is_topk(n, k):
    values = torch.randn(13, n)
    found = neighbour_search.smallest(values, k)
    expected = values.topk(k, largest=False)
    assert torch.equal(found[0], expected.values)
    assert torch.equal(found[1], expected.indices)


def test_whitened_data_have_identity_covariance():
    x = torch.randn(500, 4, dtype=torch.float64) @ torch.randn(4, 4, dtype=torch.float64) + 7
    white = whiten(x)
    torch.testing.assert_close(torch.cov(white.mT), torch.eye(4, dtype=torch.float64))


def test_whitening_gives_mahalanobis_distances_of_the_pseudo_inverse():
    x = torch.randn(50, 3, dtype=torch.float64)
    x = torch.cat((x, x[:, :1] - 2 * x[:, 1:2], torch.full((50, 1), 3.0), x[:, :1] * 5), 1)
    white = whiten(x)
    assert white.shape == (50, 3)
    precision = np.linalg.pinv(np.cov(x.mT.numpy()), rcond=1e-10)
    difference = (x[:1] - x).numpy()
    expected = np.einsum('ni,ij,nj->n', difference, precision, difference)
    torch.testing.assert_close((white[:1] - white).square().sum(1), torch.from_numpy(expected))


@pytest.mark.parametrize('kind', [torch.float32, torch.float64])
def test_a_column_that_varies_by_float32_rounding_alone_is_constant(kind):
    x = torch.randn(60, 2)
    noise = 1000 + 6e-5 * torch.randint(0, 2, (60, 1))
    y = torch.randn(60, 2)
    expected = pseudo_covariances(x, y, k=10)
    assert whiten(torch.cat((x, noise), 1).to(kind)).shape == (60, 2)
    torch.testing.assert_close(
        pseudo_covariances(torch.cat((x, noise), 1).to(kind), y, k=10), expected
    )


@pytest.mark.parametrize('scale', [1e-200, 1e-12, 1.0, 1e12, 1e200])
def test_scales_do_not_matter(scale):
    x, y = torch.randn(80, 3, dtype=torch.float64), torch.randn(80, 2, dtype=torch.float64)
    factors = torch.tensor([scale, 1.0, 1 / scale], dtype=torch.float64)
    torch.testing.assert_close(pseudo_covariances(x * factors, y), pseudo_covariances(x, y))


@pytest.mark.parametrize('squared', [False, True])
@pytest.mark.parametrize('m', [1, 3, 9])
def test_pseudo_covariances_follow_algorithm_one(m, squared):
    x, y = torch.randn(90, m, dtype=torch.float64), torch.randn(90, 2, dtype=torch.float64)
    found = pseudo_covariances(x, y, squared_distance=squared)
    torch.testing.assert_close(found, algorithm_one(x, y, 20, squared))
    small = pseudo_covariances(x, y, squared_distance=squared, memory_limit=1)
    torch.testing.assert_close(found, small)
    assert pseudo_covariances(x.float(), y.float(), k=7).dtype == torch.float32


def test_affine_maps_of_the_inputs_change_nothing_and_of_the_targets_conjugate():
    x, y = torch.randn(90, 3, dtype=torch.float64), torch.randn(90, 2, dtype=torch.float64)
    a, b = torch.randn(3, 3, dtype=torch.float64), torch.randn(2, 2, dtype=torch.float64)
    found = pseudo_covariances(x, y)
    torch.testing.assert_close(pseudo_covariances(x @ a + 5, y), found)
    torch.testing.assert_close(pseudo_covariances(x, y @ b.mT - 3), b @ found @ b.mT)


def test_k_is_capped_and_one_neighbour_has_no_spread():
    x, y = torch.randn(6, 2, dtype=torch.float64), torch.randn(6, 2, dtype=torch.float64)
    torch.testing.assert_close(pseudo_covariances(x, y, k=50), algorithm_one(x, y, 6))
    assert not pseudo_covariances(x, y, k=1).any()
    assert not pseudo_covariances(x[:1], y[:1]).any()


def test_constant_inputs_give_the_plain_covariance():
    y = torch.randn(20, 3, dtype=torch.float64)
    found = pseudo_covariances(torch.full((20, 2), 0.1), y, k=20)
    expected = torch.cov(y.mT, correction=0).expand(20, 3, 3)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize('local_linear', [False, True])
def test_missing_targets_carry_no_weight(local_linear):
    x, y = torch.randn(70, 2, dtype=torch.float64), torch.randn(70, 3, dtype=torch.float64)
    whole = pseudo_covariances(x, y, k=30, local_linear=local_linear)
    everything = torch.ones(70, 3, dtype=torch.bool)
    masked = pseudo_covariances(x, y, k=30, mask=everything, local_linear=local_linear)
    torch.testing.assert_close(masked, whole)
    mask = torch.rand(70, 3) > 0.3
    mask[:, 2] = False
    holes = y.masked_fill(~mask, float('nan'))
    found = pseudo_covariances(x, holes, k=30, mask=mask, local_linear=local_linear)
    assert torch.isfinite(found).all()
    assert not found[:, 2].any()
    assert not found[:, :, 2].any()
    assert torch.linalg.eigvalsh(found).min() > -1e-12
    other = pseudo_covariances(x, y.masked_fill(~mask, 9), 30, mask, local_linear=local_linear)
    torch.testing.assert_close(other, found)


def test_a_missing_target_is_left_out_of_its_variance():
    x, y = torch.randn(40, 1, dtype=torch.float64), torch.randn(40, 1, dtype=torch.float64)
    mask = torch.ones(40, 1, dtype=torch.bool)
    mask[7] = False
    found = pseudo_covariances(x, y, 40, mask)
    kept = torch.arange(40) != 7
    white = whiten(x).squeeze(1)
    weights = torch.softmax(-(white[kept] - white[0]).abs(), 0)
    mean = (weights * y[kept, 0]).sum()
    torch.testing.assert_close(found[0, 0, 0], (weights * (y[kept, 0] - mean) ** 2).sum())


def test_a_local_fit_removes_the_slope_and_keeps_the_noise():
    x = torch.randn(3000, 2, dtype=torch.float64)
    slope = x @ torch.tensor([[5.0, -3.0], [2.0, 4.0]], dtype=torch.float64)
    assert pseudo_covariances(x, slope, k=60, local_linear=True).abs().max() < 1e-12
    noise = torch.randn(3000, 2, dtype=torch.float64)
    found = pseudo_covariances(x, slope + noise, k=60, local_linear=True).mean(0)
    truth = torch.cov(noise.mT)
    torch.testing.assert_close(found, truth, rtol=0, atol=0.02)
    plain = pseudo_covariances(x, slope + noise, k=60).mean(0)
    assert (plain - truth).norm() > 5 * (found - truth).norm()


@pytest.mark.parametrize('local_linear', [False, True])
def test_degenerate_inputs_stay_finite_and_positive(local_linear):
    x = torch.randn(50, 2).repeat(4, 1)
    x = torch.cat((x, x[:, :1], torch.zeros(200, 1)), 1)
    y = torch.randn(200, 3)
    found = pseudo_covariances(x, y, local_linear=local_linear)
    assert torch.isfinite(found).all()
    assert torch.equal(found, found.mT)
    assert torch.linalg.eigvalsh(found.double()).min() > -1e-6


def test_a_local_fit_on_constant_inputs_is_a_covariance():
    y = torch.randn(20, 2, dtype=torch.float64)
    found = pseudo_covariances(torch.ones(20, 3), y, k=20, local_linear=True)
    torch.testing.assert_close(found, torch.cov(y.mT).expand(20, 2, 2), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ('name', 'change'),
    [
        ('x', dict(x=torch.full((5, 2), float('inf')))),
        ('x', dict(x=torch.randn(5))),
        ('x', dict(x=torch.ones(5, 2, dtype=torch.long))),
        ('y', dict(y=torch.full((5, 2), float('nan')))),
        ('y', dict(y=torch.randn(4, 2))),
        ('k', dict(k=0)),
        ('k', dict(k=3, local_linear=True)),
        ('mask', dict(mask=torch.ones(5, 2))),
        ('mask', dict(mask=torch.ones(1, 2, dtype=torch.bool))),
        ('memory_limit', dict(memory_limit=0)),
    ],
)
def test_bad_arguments_are_named(name, change):
    arguments = dict(x=torch.randn(5, 2), y=torch.randn(5, 2)) | change
    with pytest.raises(ValueError, match=f'^{name}:'):
        pseudo_covariances(**arguments)


def test_progress_reaches_the_end(capsys):
    nearest_neighbours(torch.randn(30, 2), 3, progress=True)
    assert '30/30' in capsys.readouterr().err
