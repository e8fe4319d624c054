"""Laws of the Student-t kernels: against scipy, against the Gaussian, by sampling and autograd."""

import numpy as np
import pytest
import torch
from helpers import random_covariance
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from torch.autograd import gradcheck

from hetpose.ops import gaussian, student

D = torch.float64
MASK = torch.tensor([True, False, True, True, False])


def problem(*batch: int, dim: int = 5) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    nu = 2 + 8 * torch.rand(*batch, dtype=D)
    return torch.randn(*batch, dim, dtype=D) * 2, random_covariance(*batch, dim=dim), nu


class TestLikelihood:
    @pytest.mark.parametrize('dim', [1, 2, 5, 8])
    @pytest.mark.parametrize('nu', [0.7, 2.0, 3.5, 40.0, 1e4])
    def test_agrees_with_scipy(self, dim, nu):
        residual, scale, _ = problem(7, dim=dim)
        found = student.negative_log_likelihood(residual, scale, nu)
        expected = [
            -stats.multivariate_t(shape=s.numpy(), df=nu).logpdf(r.numpy())
            for r, s in zip(residual, scale, strict=True)
        ]
        # scipy's own lgamma differences lose digits at large ν.
        torch.testing.assert_close(found, torch.tensor(expected, dtype=D), rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize('dtype', [torch.float32, torch.float64])
    @pytest.mark.parametrize('nu', [1e8, 1e12, 1e30, torch.inf])
    def test_becomes_the_gaussian(self, dtype, nu):
        scale = random_covariance(20, dim=28)
        residual = gaussian.sample(torch.zeros(28, dtype=D), scale, 1)[0].to(dtype)
        found = student.negative_log_likelihood(residual, scale.to(dtype), nu)
        exact = gaussian.negative_log_likelihood(residual, scale.to(dtype))
        assert found.dtype == dtype
        # The difference itself is about (q − d)²/4ν: 1e-6 at the smallest ν here.
        torch.testing.assert_close(found, exact, rtol=1e-6, atol=2e-6)

    @pytest.mark.parametrize('nu', [2.0, 2.01, 5.0, 30.0, 1e3, 1e5])
    def test_single_precision_is_as_good_as_its_residual(self, nu):
        residual, scale, _ = problem(20, dim=28)
        residual, scale = residual.float(), scale.float()
        exact = student.negative_log_likelihood(residual.double(), scale.double(), nu)
        found = student.negative_log_likelihood(residual, scale, nu)
        torch.testing.assert_close(found.double(), exact, rtol=3e-6, atol=3e-6)

    def test_masked_is_marginal(self):
        residual, scale, nu = problem(4)
        expected = student.negative_log_likelihood(
            residual[:, MASK], scale[:, MASK][:, :, MASK], nu
        )
        residual[:, ~MASK] = torch.nan
        scale[:, ~MASK] = torch.nan
        scale[:, :, ~MASK] = torch.nan
        found = student.negative_log_likelihood(residual, scale, nu, MASK)
        torch.testing.assert_close(found, expected)

    def test_every_sample_has_its_own_mask(self):
        residual, scale, nu = problem(16)
        mask = torch.rand(16, 5) > 0.4
        found = student.negative_log_likelihood(residual, scale, nu, mask)
        for i in range(16):
            alone = student.negative_log_likelihood(residual[i], scale[i], nu[i], mask[i])
            torch.testing.assert_close(found[i], alone)
        assert found[~mask.any(-1)].abs().sum() == 0

    def test_factor_replaces_scale(self):
        residual, scale, nu = problem(4)
        factor = torch.linalg.cholesky_ex(scale).L
        for mask in (None, MASK):
            torch.testing.assert_close(
                student.negative_log_likelihood(residual, None, nu, mask, scale_tril=factor),
                student.negative_log_likelihood(residual, scale, nu, mask),
            )

    @pytest.mark.parametrize('mask', [None, MASK.expand(3, 5)])
    def test_gradients(self, mask):
        residual, scale, nu = (t.requires_grad_() for t in problem(3))

        def value(r, s, v):
            return student.negative_log_likelihood(r, (s + s.mT) / 2, v, mask)

        assert gradcheck(value, (residual, scale, nu))

    def test_gradient_is_finite_at_the_mean_and_at_infinity(self):
        residual = torch.zeros(2, 3, requires_grad=True)
        nu = torch.tensor([2.5, torch.inf], requires_grad=True)
        student.negative_log_likelihood(residual, torch.eye(3), nu).sum().backward()
        assert torch.isfinite(residual.grad).all()
        assert torch.isfinite(nu.grad[0])

    def test_an_outlier_costs_its_logarithm(self):
        far = torch.tensor([[1e3, 0.0], [1e6, 0.0]], dtype=D)
        near, farther = student.negative_log_likelihood(far, torch.eye(2, dtype=D), 3.0)
        assert farther - near == pytest.approx((3 + 2) * np.log(1e3), rel=1e-4)

    @pytest.mark.parametrize('nu', [0.5, 2.1, torch.inf])
    @pytest.mark.parametrize('dtype', [torch.float32, torch.float64])
    def test_what_overflows_is_never_nan(self, nu, dtype):
        """The square of the distance, or its ratio to ν, may be too large for the type."""
        largest = torch.finfo(dtype).max
        far = torch.tensor([largest**0.49, largest**0.51, largest, torch.inf], dtype=dtype)
        found = student.tail_energy(far**2, torch.tensor(nu, dtype=dtype), 2)
        assert (found[1:] > 50).all()
        assert (found.diff() >= 0)[found[:-1].isfinite()].all()
        residual = far[:3, None] * torch.ones(2, dtype=dtype)
        likelihood = student.negative_log_likelihood(residual, torch.eye(2, dtype=dtype), nu)
        assert not likelihood.isnan().any()

    @pytest.mark.parametrize('nu', [0.0, -1.0, torch.nan])
    def test_bad_degrees_of_freedom_are_named(self, nu):
        residual, scale, _ = problem(2)
        with pytest.raises(ValueError, match='degrees_of_freedom'):
            student.negative_log_likelihood(residual, scale, nu)


class TestNormaliser:
    @settings(max_examples=80)
    @given(st.floats(0.05, 1e15), st.integers(0, 60))
    def test_is_the_difference_of_log_gammas(self, nu, dim):
        mpmath = pytest.importorskip('mpmath')
        with mpmath.workdps(60):
            x, a = mpmath.mpf(nu) / 2, mpmath.mpf(dim) / 2
            exact = mpmath.loggamma(x + a) - mpmath.loggamma(x) - a * mpmath.log(x)
        found = student.log_normaliser(torch.tensor(nu, dtype=D), dim)
        assert found.item() == pytest.approx(float(exact), rel=1e-13, abs=1e-14)

    def test_grows_with_the_dimension_and_vanishes_at_infinity(self):
        nu = torch.tensor([2.0, 10.0, 1e3, torch.inf], dtype=D)
        value = student.log_normaliser(nu, 28)
        assert (value.diff() < 0).all()
        assert value[-1] == 0


class TestMoments:
    def test_scale_and_covariance_are_inverse_maps(self):
        _, scale, nu = problem(6)
        covariance = student.covariance_from_scale(scale, nu)
        torch.testing.assert_close(student.scale_from_covariance(covariance, nu), scale)
        at_infinity = torch.full((6,), torch.inf, dtype=D)
        torch.testing.assert_close(student.covariance_from_scale(scale, at_infinity), scale)

    def test_no_covariance_at_two(self):
        with pytest.raises(ValueError, match='degrees_of_freedom: expected values > 2'):
            student.covariance_from_scale(torch.eye(2), 2.0)

    def test_samples_have_the_covariance_and_the_tails(self):
        _, scale, _ = problem(2, dim=3)
        nu = torch.tensor([6.0, torch.inf], dtype=D)
        mean = torch.randn(2, 3, dtype=D)
        draws = student.sample(mean, scale, nu, 400_000, torch.Generator().manual_seed(0))
        covariance = student.covariance_from_scale(scale, nu)
        for i in range(2):
            torch.testing.assert_close(draws[:, i].mean(0), mean[i], rtol=0, atol=0.02)
            found = torch.cov(draws[:, i].T)
            torch.testing.assert_close(found, covariance[i], rtol=0, atol=0.03)
            distance = gaussian.mahalanobis_squared(draws[:, i] - mean[i], scale[i])
            uniform = student.radial_cdf(distance, 3, nu[i])
            assert stats.kstest(uniform.numpy(), 'uniform').statistic < 0.004

    def test_samples_of_many_tails_around_one_scale(self):
        nu = torch.tensor([3.0, 8.0, torch.inf], dtype=D)
        scale = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=D)
        mean = torch.tensor([1.0, -1.0], dtype=D)
        draws = student.sample(mean, scale, nu, 100_000, torch.Generator().manual_seed(0))
        assert draws.shape == (100_000, 3, 2)
        inside = ((draws - mean) @ torch.linalg.inv(scale) * (draws - mean)).sum(-1)
        for i in range(3):
            distance = student.radial_quantile(0.9, 2, nu[i])
            assert (inside[:, i] <= distance).double().mean() == pytest.approx(0.9, abs=0.005)
        with pytest.raises(ValueError, match='do not broadcast'):
            student.sample(mean.expand(2, 2), scale, nu, 4)

    def test_sample_is_reproducible_and_keeps_its_type(self):
        _, scale, nu = (t.float() for t in problem(3))
        first, second = (
            student.sample(torch.zeros(3, 5), scale, nu, 4, torch.Generator().manual_seed(1))
            for _ in range(2)
        )
        assert first.shape == (4, 3, 5)
        assert first.dtype == torch.float32
        assert torch.equal(first, second)


class TestConditioning:
    def test_agrees_with_the_joint_density(self):
        """p(a | b) = p(a, b) / p(b): the conditional's density is the ratio, at any point."""
        residual, scale, nu = problem(6)
        mean = torch.randn(6, 5, dtype=D)
        place = mean + residual
        given_at, rest = [1, 4], [0, 2, 3]
        centre, conditional, more = student.condition(
            mean, scale, nu, given_at, place[:, given_at]
        )
        joint = student.negative_log_likelihood(place - mean, scale, nu)
        known = torch.zeros(5, dtype=torch.bool)
        known[given_at] = True
        marginal = student.negative_log_likelihood(place - mean, scale, nu, known)
        alone = student.negative_log_likelihood(place[:, rest] - centre, conditional, more)
        torch.testing.assert_close(alone, joint - marginal)
        torch.testing.assert_close(more, nu + 2)

    def test_agrees_with_samples_near_the_given_value(self):
        scale = torch.tensor([[1.0, 0.8], [0.8, 1.5]], dtype=D)
        draws = student.sample(
            torch.zeros(2, dtype=D), scale, 4.0, 3_000_000, torch.Generator().manual_seed(0)
        )
        for value in (0.3, 3.0):
            near = draws[(draws[:, 0] - value).abs() < 0.03, 1]
            mean, conditional, nu = student.condition(
                torch.zeros(2, dtype=D), scale, 4.0, [0], [value]
            )
            assert near.mean().item() == pytest.approx(mean.item(), abs=0.06)
            spread = student.covariance_from_scale(conditional, nu).item() ** 0.5
            assert near.std().item() == pytest.approx(spread, rel=0.06)

    def test_becomes_the_gaussian(self):
        residual, scale, _ = problem(3)
        mean = torch.zeros(3, 5, dtype=D)
        expected = gaussian.condition(mean, scale, [0, 2], residual[:, :2])
        found = student.condition(mean, scale, torch.inf, [0, 2], residual[:, :2])
        torch.testing.assert_close(found[0], expected[0])
        torch.testing.assert_close(found[1], expected[1])
        assert torch.isinf(found[2]).all()

    def test_an_improbable_value_widens_and_a_probable_one_narrows(self):
        scale, zero = torch.eye(2, dtype=D), torch.zeros(2, dtype=D)
        assert student.condition(zero, scale, 3.0, [0], [10.0])[1].item() > 1
        assert student.condition(zero, scale, 3.0, [0], [0.0])[1].item() < 1


class TestRadius:
    @settings(max_examples=60)
    @given(st.floats(0.01, 0.999), st.integers(1, 40), st.floats(0.5, 1e6))
    def test_quantile_is_that_of_the_f_distribution(self, level, dim, nu):
        found = student.radial_quantile(level, dim, torch.tensor(nu, dtype=D))
        assert student.radial_cdf(found, dim, nu).item() == pytest.approx(level, rel=1e-7)
        if nu < 1e3:  # where scipy's inverse of F converges
            expected = dim * special.fdtri(dim, nu, level)
            assert found.item() == pytest.approx(expected, rel=1e-6)

    def test_two_dimensions_in_closed_form(self):
        nu = torch.tensor([2.0, 3.0, 17.0, 1e4], dtype=D)
        expected = nu * torch.expm1(-2 / nu * np.log1p(-0.9))
        torch.testing.assert_close(student.radial_quantile(0.9, 2, nu), expected)

    def test_whole_degrees_of_freedom_do_not_round_the_quantile(self):
        whole = student.radial_quantile(0.9, 2, torch.tensor([3, 17]))
        exact = student.radial_quantile(0.9, 2, torch.tensor([3, 17], dtype=D))
        assert torch.equal(whole, exact)

    def test_infinity_is_chi_squared(self):
        dims = torch.tensor([1, 2, 9])
        nu = torch.full((3,), torch.inf, dtype=D)
        found = student.radial_quantile(0.9, dims, nu)
        torch.testing.assert_close(found, torch.tensor(stats.chi2.ppf(0.9, [1, 2, 9]), dtype=D))
        torch.testing.assert_close(
            student.radial_cdf(found, dims, nu), torch.full((3,), 0.9, dtype=D)
        )

    def test_marginal_is_the_univariate_t(self):
        z = torch.linspace(-6, 6, 25, dtype=D)
        for nu in (2.5, 30.0):
            found = student.marginal_cdf(z, torch.tensor(nu, dtype=D))
            torch.testing.assert_close(found, torch.tensor(stats.t.cdf(z, nu), dtype=D))
        normal = student.marginal_cdf(z, torch.tensor(torch.inf, dtype=D))
        torch.testing.assert_close(normal, torch.special.ndtr(z))

    def test_level_is_checked(self):
        with pytest.raises(ValueError, match='level'):
            student.radial_quantile(1.0, 2, torch.tensor(3.0))


@settings(max_examples=40)
@given(
    st.integers(1, 6),
    st.floats(2.0, 200.0),
    st.floats(0.1, 10.0),
    st.integers(0, 2**31 - 1),
)
def test_density_follows_an_affine_map(dim, nu, stretch, seed):
    """p_S(r) = |A| p_{ASAᵀ}(Ar), and the Gaussian is never heavier than the t far away."""
    generator = torch.Generator().manual_seed(seed)
    factor = torch.randn(dim, dim, generator=generator, dtype=D)
    scale = factor @ factor.mT + torch.eye(dim, dtype=D)
    residual = torch.randn(dim, generator=generator, dtype=D)
    root = stretch * (torch.eye(dim, dtype=D) + 0.3 * factor.tril(-1))
    moved = student.negative_log_likelihood(root @ residual, root @ scale @ root.mT, nu)
    straight = student.negative_log_likelihood(residual, scale, nu)
    torch.testing.assert_close(moved, straight + dim * np.log(stretch), rtol=1e-8, atol=1e-8)
    far = 1e4 * residual
    assert student.negative_log_likelihood(far, scale, nu) < gaussian.negative_log_likelihood(
        far, scale
    )
