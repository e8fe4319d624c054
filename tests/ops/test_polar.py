"""Laws of the polar factor."""

import pytest
import torch

from hetpose.ops import polar
from hetpose.ops.polar import polar_factor

TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-14}
dtypes = pytest.mark.parametrize('dtype', [torch.float32, torch.float64])


def with_condition(condition: float, size: int, dtype: torch.dtype):
    """Random matrices (16, size, size) of one condition number, and their polar factors."""
    left, right = (torch.linalg.qr(torch.randn(16, size, size).double()).Q for _ in range(2))
    values = torch.logspace(0, -torch.tensor(condition).log10().item(), size).double()
    return ((left * values) @ right).to(dtype), left @ right


def orthogonality(q: torch.Tensor) -> float:
    return (q.mT @ q - torch.eye(q.shape[-1], dtype=q.dtype)).abs().max().item()


@dtypes
@pytest.mark.parametrize('size', [1, 2, 5, 28])
@pytest.mark.parametrize('condition', [1.0, 1e2, 1e5, 1e9])
def test_agrees_with_the_singular_vectors(condition, size, dtype):
    matrix, expected = with_condition(condition, size, dtype)
    q = polar_factor(matrix)
    assert orthogonality(q) < TOLERANCE[dtype]
    # Rounding of the input alone turns the factor by eps times the condition number.
    turn = 10 * torch.finfo(dtype).eps * condition
    assert (q.double() - expected).abs().max() < max(turn, TOLERANCE[dtype])


@dtypes
@pytest.mark.parametrize('rank', [0, 1, 3, 6])
def test_a_null_space_is_completed(rank, dtype):
    matrix = torch.randn(50, 7, rank, dtype=dtype) @ torch.randn(50, rank, 7, dtype=dtype)
    q = polar_factor(matrix)
    assert orthogonality(q) < TOLERANCE[dtype]
    nuclear = torch.linalg.svdvals(matrix.double()).sum(-1)
    reached = (q * matrix).double().sum((-2, -1))
    assert ((reached - nuclear).abs() <= 10 * TOLERANCE[dtype] * nuclear).all()


@dtypes
def test_aligned_null_spaces(dtype):
    matrix = torch.diag(torch.tensor([3.0, 1.0, 0.0, 0.0, 0.0], dtype=dtype))
    q = polar_factor(matrix)
    assert orthogonality(q) < TOLERANCE[dtype]
    torch.testing.assert_close(q[:2, :2], torch.eye(2, dtype=dtype))


def test_an_item_does_not_depend_on_its_batch():
    matrix = torch.randn(4, 5, 5)
    matrix[2] = 0
    torch.testing.assert_close(polar_factor(matrix)[1], polar_factor(matrix[1]), rtol=0, atol=0)


def test_what_does_not_converge_goes_to_an_svd(monkeypatch):
    monkeypatch.setattr(polar, '_cubics', lambda low, eps: [(1.5, -0.5)])
    matrix = torch.randn(3, 4, 4, dtype=torch.float64)
    matrix[1] = torch.eye(4)
    left, _, right = torch.linalg.svd(matrix)
    torch.testing.assert_close(polar_factor(matrix), left @ right)


def test_shapes_and_gradient():
    assert polar_factor(torch.randn(2, 3, 4, 4)).shape == (2, 3, 4, 4)
    assert polar_factor(torch.randn(0, 4, 4)).shape == (0, 4, 4)
    assert not polar_factor(torch.randn(4, 4, requires_grad=True)).requires_grad
