"""Laws of the Wasserstein distance and its bound."""

import pytest
import torch
from helpers import random_covariance
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from hetpose.ops.spd import safe_cholesky, symmetric_sqrt
from hetpose.ops.wasserstein import w2_squared, w2_squared_bound

D = torch.float64
MASK = torch.tensor([True, False, True, True, False])
# (m, n): both factors' columns; d = 5, narrower, equal and wider.
WIDTHS = [(5, 5), (5, 9), (9, 5), (8, 12), (2, 5), (5, 2), (2, 3), (3, 9), (1, 1)]


def by_definition(covariance: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Tr[Σ + Σ̃ - 2(Σ̃^½ΣΣ̃^½)^½] by eigenvalues."""
    root = symmetric_sqrt(target)
    values = torch.linalg.eigvalsh(root @ covariance @ root).clamp(min=0).sqrt()
    trace = (covariance + target).diagonal(dim1=-2, dim2=-1).sum(-1)
    return trace - 2 * values.sum(-1)


def factors(*batch: int, dim: int = 5, widths=(5, 5), dtype=D):
    return tuple(torch.randn(*batch, dim, width, dtype=dtype) for width in widths)


@pytest.mark.parametrize('widths', WIDTHS)
class TestAnyFactor:
    def test_agrees_with_the_definition(self, widths):
        factor, target = factors(6, widths=widths)
        expected = by_definition(factor @ factor.mT, target @ target.mT)
        # The definition takes roots of eigenvalues that are 0 up to rounding: 1e-6 is all it has.
        tolerance = 1e-10 if min(widths) >= 5 else 1e-5
        torch.testing.assert_close(w2_squared(factor, target), expected, rtol=0, atol=tolerance)

    def test_gradient(self, widths):
        factor, target = (f.requires_grad_() for f in factors(2, widths=widths))
        assert gradcheck(w2_squared, (factor, target))

    def test_depends_on_the_covariance_alone(self, widths):
        factor, target = factors(6, widths=widths)
        rotation = torch.linalg.qr(torch.randn(6, widths[0], widths[0], dtype=D)).Q
        torch.testing.assert_close(
            w2_squared(factor @ rotation, target), w2_squared(factor, target)
        )

    def test_symmetric(self, widths):
        factor, target = factors(6, widths=widths)
        torch.testing.assert_close(w2_squared(factor, target), w2_squared(target, factor))

    def test_zero_at_equality(self, widths):
        factor, _ = factors(6, widths=widths)
        same = torch.cat([factor, torch.zeros_like(factor)], dim=-1)
        assert w2_squared(factor, same).abs().max() < 1e-20


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**31),
    dim=st.integers(1, 6),
    width=st.integers(1, 9),
    log_scale=st.floats(-9, 9),
    log_target_scale=st.floats(-9, 9),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_bound_above_exact_above_zero(seed, dim, width, log_scale, log_target_scale, dtype):
    generator = torch.Generator().manual_seed(seed)
    shape = (4, dim, width)
    factor = 10**log_scale * torch.randn(shape, generator=generator, dtype=dtype)
    target = 10**log_target_scale * torch.randn(shape, generator=generator, dtype=dtype)
    residual = torch.randn(4, dim, generator=generator, dtype=dtype)
    exact = w2_squared(factor, target, residual)
    bound = w2_squared_bound(factor, target, residual)
    assert (exact >= 0).all()
    assert (exact <= bound * (1 + 1e-5)).all()


def test_bound_is_exact_for_commuting_symmetric_roots():
    basis = torch.linalg.qr(torch.randn(4, 5, 5, dtype=D)).Q
    values = torch.rand(2, 4, 1, 5, dtype=D)
    root, target = (basis * values) @ basis.mT
    torch.testing.assert_close(w2_squared_bound(root, target), w2_squared(root, target))


def test_bound_is_not_exact_otherwise():
    factor, target = factors(4)
    assert (w2_squared_bound(factor, target) > w2_squared(factor, target) + 0.1).all()


def test_single_precision():
    factor, target = factors(32, dim=28, widths=(28, 28))
    exact = w2_squared(factor, target)
    value = w2_squared(factor.float(), target.float()).double()
    assert ((value - exact).abs() / exact).max() < 1e-5


@pytest.mark.parametrize('scale', [1e-18, 1e-6, 1e6, 1e18])
def test_scales(scale):
    factor, target = factors(4, dtype=torch.float32)
    factor, target = factor.requires_grad_(), target.requires_grad_()
    plain = torch.autograd.grad(w2_squared(factor, target).sum(), (factor, target))
    large = torch.autograd.grad(
        w2_squared(scale * factor, scale * target).sum() / scale**2, (factor, target)
    )
    for a, b in zip(plain, large, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


class TestHardPlaces:
    """Where a derivative through eigenvectors divides by zero."""

    def gradients(self, factor, target):
        factor, target = factor.clone().requires_grad_(), target.clone().requires_grad_()
        return torch.autograd.grad(w2_squared(factor, target).sum(), (factor, target))

    @pytest.mark.parametrize('dtype', [torch.float32, D])
    def test_equal(self, dtype):
        factor = safe_cholesky(random_covariance(3, dim=5, dtype=dtype))
        for gradient in self.gradients(factor, factor):
            assert gradient.abs().max() < 1e-5

    def test_repeated_eigenvalues(self):
        # Between 2I and I the gradient of the scale is known: d/ds d(s - 1)² = 2(s - 1) per axis.
        identity = torch.eye(5, dtype=D)
        gradient, target_gradient = self.gradients(2 * identity, identity)
        torch.testing.assert_close(gradient, 2 * identity)
        torch.testing.assert_close(target_gradient, -2 * identity)

    @pytest.mark.parametrize('rank', [0, 1, 3])
    def test_rank_deficiency(self, rank):
        factor, target = factors(3)
        factor[..., rank:] = 0
        for a, b in ((factor, target), (target, factor), (factor, factor)):
            for gradient in self.gradients(a, b):
                assert torch.isfinite(gradient).all()

    def test_descent_leaves_a_singular_covariance(self):
        factor = torch.zeros(5, 5, dtype=D, requires_grad=True)
        target, _ = factors()
        optimiser = torch.optim.SGD([factor], lr=0.1)
        for _ in range(100):
            optimiser.zero_grad()
            w2_squared(factor, target).backward()
            optimiser.step()
        torch.testing.assert_close(factor @ factor.mT, target @ target.mT)

    def test_second_derivative_is_refused(self):
        factor, target = factors()
        factor.requires_grad_()
        with pytest.raises(RuntimeError, match='no second derivative'):
            torch.autograd.grad(w2_squared(factor, target), factor, create_graph=True)


@pytest.mark.parametrize('distance', [w2_squared, w2_squared_bound])
class TestBoth:
    def test_masked_is_marginal(self, distance):
        factor, target = factors(3)
        residual = torch.randn(3, 5, dtype=D)
        expected = distance(factor[:, MASK], target[:, MASK], residual[:, MASK])
        factor[:, ~MASK], target[:, ~MASK], residual[:, ~MASK] = torch.nan, torch.nan, torch.nan
        factor.requires_grad_()
        value = distance(factor, target, residual, MASK)
        torch.testing.assert_close(value, expected)
        value.sum().backward()
        assert (factor.grad[:, ~MASK] == 0).all()

    def test_mean_term(self, distance):
        factor, target = factors(3)
        residual = torch.randn(3, 5, dtype=D)
        difference = distance(factor, target, residual) - distance(factor, target)
        torch.testing.assert_close(difference, residual.square().sum(-1))

    def test_broadcasting(self, distance):
        (factor, _), (_, target) = factors(4, 1), factors(3)
        value = distance(factor.requires_grad_(), target, torch.zeros(3, 5, dtype=D))
        assert value.shape == (4, 3)
        torch.testing.assert_close(value[2, 1], distance(factor[2, 0], target[1]))
        value.sum().backward()
        assert factor.grad.shape == factor.shape

    def test_outside_autocast(self, distance):
        factor, target = factors(3, dtype=torch.float32)
        with torch.autocast('cpu', dtype=torch.bfloat16):
            value = distance(factor, target)
        torch.testing.assert_close(value, distance(factor, target), rtol=0, atol=0)
        assert distance(factor.bfloat16(), target.bfloat16()).dtype == torch.float32

    def test_gradient(self, distance):
        factor, target = (f.requires_grad_() for f in factors(2))
        residual = torch.randn(2, 5, dtype=D, requires_grad=True)
        assert gradcheck(lambda f, t, r: distance(f, t, r, MASK), (factor, target, residual))

    def test_bad_input(self, distance):
        factor, target = factors(3)
        residual = torch.zeros(3, 5, dtype=D)
        bad = torch.full_like(factor, torch.nan)
        cases = [
            ((bad, target), '^factor: .*NaN'),
            ((factor, bad), '^target_factor: .*NaN'),
            ((factor, target, residual / 0), '^residual: .*NaN'),
            ((factor[0, 0], target), '^factor: expected shape'),
            ((factor, target[:, :3]), '^target_factor: expected shape'),
            ((factor, target, residual[:, :3]), '^residual: expected shape'),
            ((factor, target, residual, MASK.float()), '^mask: expected booleans'),
            ((factor, target, residual, MASK[:3]), '^mask: expected shape'),
            ((factor, target[:2]), 'do not broadcast: factor'),
        ]
        for arguments, message in cases:
            with pytest.raises(ValueError, match=message):
                distance(*arguments)


def test_bound_needs_equal_columns():
    with pytest.raises(ValueError, match='target_factor: expected 5 columns'):
        w2_squared_bound(*factors(widths=(5, 4)))
