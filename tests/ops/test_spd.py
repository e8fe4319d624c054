"""Laws of the algebra of positive definite matrices."""

import pytest
import torch
from helpers import random_covariance
from torch.autograd import gradcheck, gradgradcheck

from hetpose.ops import spd
from hetpose.ops.spd import (
    NotPositiveDefiniteError,
    add_floor,
    log_determinant,
    mask_matrix,
    safe_cholesky,
    solve,
    symmetric_sqrt,
)

SHAPES = [(), (3,), (2, 1, 3)]
SCALES = [1e-12, 1.0, 1e12]
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12}


@pytest.mark.parametrize('dtype', [torch.float32, torch.float64])
@pytest.mark.parametrize('scale', SCALES)
@pytest.mark.parametrize('batch', SHAPES)
class TestLaws:
    def test_cholesky_multiplies_back(self, batch, scale, dtype):
        matrix = scale * random_covariance(*batch, dim=6, dtype=dtype)
        factor = safe_cholesky(matrix)
        assert factor.triu(1).count_nonzero() == 0
        error = (factor @ factor.mT - matrix).abs().max()
        assert error <= TOLERANCE[dtype] * matrix.abs().max()

    def test_root_is_symmetric_and_squares_back(self, batch, scale, dtype):
        matrix = scale * random_covariance(*batch, dim=6, dtype=dtype)
        root = symmetric_sqrt(matrix)
        assert (root - root.mT).abs().max() <= TOLERANCE[dtype] * root.abs().max()
        assert (root @ root - matrix).abs().max() <= TOLERANCE[dtype] * matrix.abs().max()
        assert (torch.linalg.eigvalsh(root) > 0).all()

    def test_solve_inverts(self, batch, scale, dtype):
        matrix = scale * random_covariance(*batch, dim=6, dtype=dtype)
        rhs = torch.randn(*batch, 6, 2, dtype=dtype)
        tolerance = 100 * TOLERANCE[dtype]
        torch.testing.assert_close(matrix @ solve(matrix, rhs), rhs, rtol=0, atol=tolerance)

    def test_log_determinant(self, batch, scale, dtype):
        matrix = scale * random_covariance(*batch, dim=6, dtype=dtype)
        expected = torch.linalg.slogdet(matrix.double()).logabsdet.to(dtype)
        torch.testing.assert_close(log_determinant(matrix), expected)


def test_log_determinant_broadcasts_solve():
    matrix = random_covariance(4, 1, dim=3)
    assert solve(matrix, torch.randn(5, 3, 2, dtype=torch.float64)).shape == (4, 5, 3, 2)


class TestSafeCholesky:
    def test_only_failing_items_are_changed(self):
        good = random_covariance(dim=4, dtype=torch.float32)
        vector = torch.tensor([1.0, 2.0, 3.0, 4.0])
        singular = torch.outer(vector, vector) - 1e-7 * torch.diag(vector)
        matrices = torch.stack([good, singular, good])
        factor = safe_cholesky(matrices)
        assert torch.equal(factor[0], torch.linalg.cholesky_ex(good).L)
        assert torch.equal(factor[2], factor[0])
        jitter = (factor[1] @ factor[1].mT - singular).diagonal() / vector.square()
        largest = spd.JITTER[torch.float32] * spd.JITTER_GROWTH**spd.JITTER_STEPS
        assert (jitter.abs() < 2 * largest).all()

    def test_jitter_ignores_the_scale_of_other_dimensions(self):
        vector = torch.tensor([1.0, 1.0, 1e-6], dtype=torch.float64)
        singular = torch.outer(vector, vector)
        factor = safe_cholesky(singular)
        assert (factor[2] @ factor[2]).item() == pytest.approx(1e-12, rel=1e-6)

    def test_gradient_flows_through_a_jittered_item(self):
        matrix = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
        safe_cholesky(matrix).sum().backward()
        assert matrix.grad is not None
        assert torch.isfinite(matrix.grad).all()

    def test_error_names_argument_item_and_eigenvalue(self):
        matrices = torch.eye(3).repeat(2, 4, 1, 1)
        matrices[1, 2, 0, 0] = -0.5
        with pytest.raises(NotPositiveDefiniteError, match=r'prior: item \(1, 2\).*-0\.5.*floor'):
            safe_cholesky(matrices, 'prior')
        with pytest.raises(NotPositiveDefiniteError) as info:
            safe_cholesky(matrices[1])
        assert info.value.index == (2,)
        assert info.value.eigenvalue == pytest.approx(-0.5)

    def test_zero_matrix_is_refused(self):
        with pytest.raises(NotPositiveDefiniteError, match='the matrix .*eigenvalue 0'):
            safe_cholesky(torch.zeros(2, 2))

    @pytest.mark.parametrize('value', [float('nan'), float('inf')])
    def test_nan_is_told_from_indefinite(self, value):
        matrices = torch.eye(3).repeat(3, 1, 1)
        matrices[1, 0, 1] = value
        with pytest.raises(ValueError, match='covariance: item 1 holds NaN') as info:
            safe_cholesky(matrices)
        assert not isinstance(info.value, NotPositiveDefiniteError)


class TestSymmetricSqrt:
    def test_gradients(self):
        matrix = random_covariance(2, dim=4).requires_grad_()
        assert gradcheck(lambda m: symmetric_sqrt((m + m.mT) / 2), matrix)
        assert gradgradcheck(lambda m: symmetric_sqrt((m + m.mT) / 2), matrix)

    def test_repeated_eigenvalues_have_the_exact_gradient(self):
        # At M = c I the root's differential is dM / (2 √c); autograd through eigh divides by 0.
        matrix = (4 * torch.eye(3, dtype=torch.float64)).requires_grad_()
        weight = torch.randn(3, 3, dtype=torch.float64)
        (gradient,) = torch.autograd.grad((weight * symmetric_sqrt(matrix)).sum(), matrix)
        torch.testing.assert_close(gradient, (weight + weight.mT) / 2 / 4)

    def test_used_twice_the_gradients_add(self):
        matrix = random_covariance(dim=3).requires_grad_()
        root = symmetric_sqrt(matrix)
        # Tr(S S) = Tr M through two uses of one root.
        (gradient,) = torch.autograd.grad((root * root).sum(), matrix)
        torch.testing.assert_close(gradient, torch.eye(3, dtype=torch.float64))

    @pytest.mark.parametrize('dtype', [torch.float32, torch.float64])
    def test_rank_deficient_matrix_has_a_finite_gradient(self, dtype):
        factor = torch.randn(5, 2, dtype=dtype)
        matrix = (factor @ factor.mT).requires_grad_()
        root = symmetric_sqrt(matrix)
        torch.testing.assert_close(root @ root, matrix, rtol=1e-4, atol=1e-5)
        root.sum().backward()
        assert matrix.grad is not None
        assert torch.isfinite(matrix.grad).all()
        assert matrix.grad.abs().max() < 1e3

    def test_zero_has_zero_gradient(self):
        matrix = torch.zeros(2, 2, requires_grad=True)
        symmetric_sqrt(matrix).sum().backward()
        assert torch.equal(matrix.grad, torch.zeros(2, 2))

    def test_indefinite_is_refused(self):
        with pytest.raises(NotPositiveDefiniteError, match='matrix: item 1 .*-1'):
            symmetric_sqrt(torch.stack([torch.eye(2), torch.diag(torch.tensor([2.0, -1.0]))]))


def test_floor_lifts_every_eigenvalue():
    matrix = torch.randn(3, 5, 2, dtype=torch.float64)
    matrix = matrix @ matrix.mT
    lifted = torch.linalg.eigvalsh(add_floor(matrix, 0.25))
    torch.testing.assert_close(lifted, torch.linalg.eigvalsh(matrix) + 0.25)
    per_dimension = torch.arange(5, dtype=torch.float64)
    difference = add_floor(matrix, per_dimension) - matrix
    torch.testing.assert_close(difference, torch.diag(per_dimension).expand(3, 5, 5))
    assert torch.equal(add_floor(matrix, torch.tensor(0.25)), add_floor(matrix, 0.25))


def test_mask_hides_even_nan():
    matrix = random_covariance(dim=3)
    matrix[1] = matrix[:, 1] = torch.nan
    mask = torch.tensor([True, False, True])
    masked = mask_matrix(matrix, mask)
    torch.testing.assert_close(masked[mask][:, mask], matrix[mask][:, mask])
    assert torch.equal(masked[1], torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64))


BAD = [
    (lambda: safe_cholesky(torch.ones(2, 3)), r'covariance: expected shape \(\.\.\., d, d\)'),
    (lambda: safe_cholesky(torch.ones(3)), 'covariance'),
    (lambda: safe_cholesky(torch.eye(2, dtype=torch.long)), 'covariance: expected floating'),
    (lambda: safe_cholesky(torch.eye(2) + torch.ones(2, 2).triu(1)), 'covariance.*not symmetric'),
    (lambda: symmetric_sqrt(torch.eye(2) + torch.ones(2, 2).triu(1)), 'matrix.*not symmetric'),
    (lambda: symmetric_sqrt(torch.full((2, 2), torch.nan)), 'matrix.*NaN'),
    (lambda: log_determinant(torch.ones(2, 3)), 'covariance'),
    (lambda: solve(torch.eye(2), torch.ones(3, 1)), 'rhs'),
    (lambda: solve(torch.eye(2), torch.ones(2)), 'rhs'),
    (lambda: add_floor(torch.eye(2), -1e-3), 'floor'),
    (lambda: add_floor(torch.eye(2), float('nan')), 'floor'),
    (lambda: add_floor(torch.eye(2), torch.tensor([1.0, -1.0])), 'floor'),
    (lambda: add_floor(torch.eye(2), torch.ones(3)), 'floor'),
    (lambda: mask_matrix(torch.eye(2), torch.ones(2)), 'mask: expected booleans'),
    (lambda: mask_matrix(torch.eye(2), torch.ones(3, dtype=torch.bool)), 'mask'),
]


@pytest.mark.parametrize(('call', 'message'), BAD)
def test_bad_input_names_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
