"""Laws of the Gaussian kernels, against torch.distributions, sampling and autograd."""

import pytest
import torch
from helpers import random_covariance
from torch.autograd import gradcheck
from torch.distributions import MultivariateNormal
from torch.distributions import kl_divergence as reference_kl

from hetpose.ops.gaussian import (
    calibrated_kl,
    condition,
    conditional_residual,
    kl_divergence,
    mahalanobis_squared,
    negative_log_likelihood,
    recalibrate,
    sample,
    tac,
)

D = torch.float64
MASK = torch.tensor([True, False, True, True, False, True])


def problem(*batch: int, dim: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(*batch, dim, dtype=D), random_covariance(*batch, dim=dim)


def kl_of_residual(residual, covariance, mask=None):
    prior = torch.eye(covariance.shape[-1], dtype=covariance.dtype) + 1
    return kl_divergence(residual, prior, torch.zeros_like(residual), covariance, mask)


def calibrated_of_residual(residual, covariance, mask=None):
    prior = torch.eye(covariance.shape[-1], dtype=covariance.dtype) + 1
    return calibrated_kl(residual, covariance, prior, mask)


# Every kernel (residual, covariance, mask) -> (...) obeys the same laws of batches and masks.
KERNELS = {
    'nll': negative_log_likelihood,
    'mahalanobis': mahalanobis_squared,
    'kl': kl_of_residual,
    'calibrated kl': calibrated_of_residual,
    'tac': lambda r, c, m=None: tac(r, c, mask=m),
    'tac of joints': lambda r, c, m=None: tac(r, c, block=2, mask=m),
}
kernels = pytest.mark.parametrize('kernel', KERNELS.values(), ids=KERNELS.keys())


@kernels
class TestEveryKernel:
    def test_masked_is_marginal(self, kernel):
        residual, covariance = problem(4)
        # Whole joints, so that the blocks of the marginal are joints again.
        mask = torch.tensor([True, True, False, False, True, True])
        expected = kernel(residual[:, mask], covariance[:, mask][:, :, mask])
        residual[:, ~mask] = torch.nan
        covariance[:, ~mask] = torch.nan
        covariance[:, :, ~mask] = torch.nan
        torch.testing.assert_close(kernel(residual, covariance, mask), expected)

    def test_nothing_leaks_through_the_gradient_of_a_mask(self, kernel):
        residual, covariance = problem(2)
        residual.requires_grad_()
        covariance.requires_grad_()
        kernel(residual, covariance, MASK).sum().backward()
        assert (residual.grad[:, ~MASK] == 0).all()
        assert (covariance.grad[:, ~MASK] == 0).all()
        assert (residual.grad[:, MASK] != 0).all()

    def test_all_missing_is_zero(self, kernel):
        value = kernel(*problem(2), torch.zeros(2, 6, dtype=torch.bool))
        torch.testing.assert_close(value, torch.zeros(2, dtype=D))

    def test_broadcasting(self, kernel):
        residual, covariance = torch.randn(5, 4, 6, dtype=D), random_covariance(4, dim=6)
        mask = torch.rand(5, 1, 6) > 0.3
        each = [
            [kernel(residual[i, j], covariance[j], mask[i, 0]) for j in range(4)] for i in range(5)
        ]
        expected = torch.stack([torch.stack(row) for row in each])
        torch.testing.assert_close(kernel(residual, covariance, mask), expected)
        one = kernel(residual, covariance[0])
        torch.testing.assert_close(one[3, 2], kernel(residual[3, 2], covariance[0]))
        assert kernel(residual[0, 0], covariance).shape == (4,)

    def test_gradients(self, kernel):
        residual, covariance = problem(2)
        covariance.requires_grad_()
        residual.requires_grad_()
        assert gradcheck(
            lambda r, c: kernel(r, (c + c.mT) / 2, MASK.expand(2, 6)), (residual, covariance)
        )

    def test_half_precision_is_computed_in_single(self, kernel):
        residual, covariance = (t.float() for t in problem(3))
        with torch.autocast('cpu', dtype=torch.bfloat16):
            value = kernel(residual, covariance)
        torch.testing.assert_close(value, kernel(residual, covariance), rtol=0, atol=0)
        assert kernel(residual.bfloat16(), covariance).dtype == torch.float32
        assert kernel(residual.double(), covariance).dtype == torch.float64

    def test_nan_names_the_argument(self, kernel):
        residual, covariance = problem(3)
        broken = covariance.clone()
        broken[1, 2, 2] = torch.nan
        with pytest.raises(ValueError, match='covariance.*item 1 .*NaN'):
            kernel(residual, broken)
        residual[2, 0] = torch.nan
        with pytest.raises(ValueError, match=r'(residual|mean_p).*NaN'):
            kernel(residual, covariance)

    def test_wrong_shapes_name_the_argument(self, kernel):
        residual, covariance = problem(3)
        with pytest.raises(ValueError, match='covariance'):
            kernel(residual, covariance[..., :4])
        with pytest.raises(ValueError, match='(residual|mean_p|mean)'):
            kernel(residual[..., :4], covariance)
        with pytest.raises(ValueError, match='mask'):
            kernel(residual, covariance, MASK[:3])
        with pytest.raises(ValueError, match='mask'):
            kernel(residual, covariance, MASK.float())
        with pytest.raises(ValueError, match='broadcast.*residual'):
            kernel(residual[:2], covariance)


class TestLikelihood:
    def test_agrees_with_torch(self):
        residual, covariance = problem(5)
        expected = -MultivariateNormal(torch.zeros(6, dtype=D), covariance).log_prob(residual)
        torch.testing.assert_close(negative_log_likelihood(residual, covariance), expected)

    @pytest.mark.parametrize('mask', [None, MASK])
    @pytest.mark.parametrize('kernel', [negative_log_likelihood, mahalanobis_squared])
    def test_factor_replaces_covariance(self, kernel, mask):
        residual, covariance = problem(5)
        factor = torch.linalg.cholesky_ex(covariance).L
        expected = kernel(residual, covariance, mask)
        torch.testing.assert_close(kernel(residual, mask=mask, scale_tril=factor), expected)

    @pytest.mark.parametrize('scale', [1e-12, 1e12])
    def test_scales(self, scale):
        residual, covariance = (t.float() for t in problem(5))
        value = mahalanobis_squared(scale**0.5 * residual, scale * covariance)
        expected = mahalanobis_squared(residual, covariance)
        torch.testing.assert_close(value, expected, rtol=1e-3, atol=1e-4)

    def test_exactly_one_of_covariance_and_factor(self):
        residual, covariance = problem()
        for arguments in ({}, {'covariance': covariance, 'scale_tril': covariance}):
            with pytest.raises(ValueError, match='covariance, scale_tril'):
                negative_log_likelihood(residual, **arguments)

    def test_factor_with_a_bad_diagonal(self):
        factor = torch.diag(torch.tensor([1.0, -1.0]))
        with pytest.raises(ValueError, match='scale_tril.*positive diagonal'):
            negative_log_likelihood(torch.zeros(2), scale_tril=factor)


class TestDivergence:
    def test_agrees_with_torch(self):
        mean_p, covariance_p = problem(5)
        mean_q, covariance_q = problem(5)
        expected = reference_kl(
            MultivariateNormal(mean_p, covariance_p), MultivariateNormal(mean_q, covariance_q)
        )
        value = kl_divergence(mean_p, covariance_p, mean_q, covariance_q)
        torch.testing.assert_close(value, expected)
        assert (value > 0).all()

    @pytest.mark.parametrize('scale', [1e-8, 1.0, 1e8])
    def test_zero_only_at_equality(self, scale):
        mean, covariance = (scale * t.float() for t in problem(20))
        same = kl_divergence(mean, covariance, mean, covariance)
        torch.testing.assert_close(same, torch.zeros(20), rtol=0, atol=1e-5)

    def test_calibrated_is_masked_like_the_marginal(self):
        residual, covariance = problem(4)
        target = random_covariance(4, dim=6)
        keep = MASK.nonzero()[:, 0]
        marginal = [m[:, keep][:, :, keep] for m in (covariance, target)]
        torch.testing.assert_close(
            calibrated_kl(residual, covariance, target, MASK),
            calibrated_kl(residual[:, keep], *marginal),
        )

    def test_calibrated_weighs_data_and_prior_by_half(self):
        residual, covariance = problem(4)
        target = random_covariance(4, dim=6)
        plain = kl_divergence(torch.zeros_like(residual), target, residual, covariance)
        trace = torch.linalg.solve(covariance, target).diagonal(dim1=-2, dim2=-1).sum(-1)
        fit = trace + mahalanobis_squared(residual, covariance)
        expected = plain - fit / 4
        torch.testing.assert_close(calibrated_kl(residual, covariance, target), expected)

    @pytest.mark.parametrize(
        ('loss', 'weight'), [('plain', 1.0), ('calibrated', 0.5)], ids=['kl', 'calibrated']
    )
    def test_optimum(self, loss, weight):
        """The best covariance is the sum of prior and sample covariance; calibrated, the mean."""
        residual = torch.randn(50, 3, dtype=D) @ torch.randn(3, 3, dtype=D)
        prior = random_covariance(dim=3)
        factor = torch.eye(3, dtype=D).requires_grad_()
        optimiser = torch.optim.LBFGS([factor], max_iter=200, line_search_fn='strong_wolfe')

        def closure():
            optimiser.zero_grad()
            covariance = factor @ factor.mT
            if loss == 'plain':
                value = kl_divergence(residual, prior, torch.zeros(3, dtype=D), covariance)
            else:
                value = calibrated_kl(residual, covariance, prior)
            value.mean().backward()
            return value.mean()

        for _ in range(3):
            optimiser.step(closure)
        expected = weight * (prior + residual.mT @ residual / 50)
        torch.testing.assert_close(factor @ factor.mT, expected, rtol=1e-4, atol=1e-4)

    def test_error_names_the_covariance_at_fault(self):
        mean, covariance = problem(2)
        bad = covariance - 100 * torch.eye(6, dtype=D)
        with pytest.raises(ValueError, match='covariance_p: item 0'):
            kl_divergence(mean, bad, mean, covariance)
        with pytest.raises(ValueError, match='covariance_q: item 0'):
            kl_divergence(mean, covariance, mean, bad)
        with pytest.raises(ValueError, match='target_covariance: item 0'):
            calibrated_kl(mean, covariance, bad)
        with pytest.raises(ValueError, match='covariances: expected the same size'):
            kl_divergence(mean, covariance, mean, covariance[..., :4, :4])


class TestCondition:
    def test_agrees_with_the_joint_density(self):
        """p(rest | given) p(given) = p(all)."""
        mean, covariance = problem(3)
        y = torch.randn(3, 6, dtype=D)
        given, rest = [4, 1], [0, 2, 3, 5]
        mean_rest, covariance_rest = condition(mean, covariance, given, y[:, given])
        joint = negative_log_likelihood(y - mean, covariance)
        marginal = negative_log_likelihood((y - mean)[:, given], covariance[:, given][:, :, given])
        conditional = negative_log_likelihood(y[:, rest] - mean_rest, covariance_rest)
        torch.testing.assert_close(conditional + marginal, joint)

    def test_agrees_with_sampling(self):
        """Residuals of the best linear prediction from samples have the conditional covariance."""
        mean, covariance = problem(dim=4)
        draws = sample(mean, covariance, 200_000)
        given, rest = [2, 0], [1, 3]
        mean_rest, covariance_rest = condition(mean, covariance, given, draws[:, given])
        error = draws[:, rest] - mean_rest
        assert error.mean(0).abs().max() < 0.02
        torch.testing.assert_close(error.T.cov(), covariance_rest, rtol=0.02, atol=0.01)
        across = error.T @ (draws[:, given] - mean[given]) / len(draws)
        assert across.abs().max() < 0.02

    def test_any_subset_given_any_other(self):
        mean, covariance = problem(3)
        values = torch.randn(3, 2, dtype=D)
        mean_rest, covariance_rest = condition(mean, covariance, [5, 0], values)
        some, some_covariance = condition(mean, covariance, [5, 0], values, query=[3, 1])
        torch.testing.assert_close(some, mean_rest[:, [2, 0]])
        torch.testing.assert_close(some_covariance, covariance_rest[:, [2, 0]][:, :, [2, 0]])

    def test_index_forms(self):
        mean, covariance = problem()
        expected = condition(mean, covariance, [1, 4], [0.5, 2.0])
        flags = torch.tensor([False, True, False, False, True, False])
        for index in (torch.tensor([1, 4]), flags, flags.tolist()):
            for a, b in zip(condition(mean, covariance, index, [0.5, 2.0]), expected, strict=True):
                assert torch.equal(a, b)

    def test_nothing_given_and_everything_given(self):
        mean, covariance = problem(2)
        same_mean, same = condition(mean, covariance, [], torch.zeros(2, 0, dtype=D))
        torch.testing.assert_close(same_mean, mean)
        torch.testing.assert_close(same, covariance)
        empty, none = condition(mean, covariance, range(6), mean)
        assert empty.shape == (2, 0)
        assert none.shape == (2, 0, 0)

    @pytest.mark.parametrize(
        ('index', 'values', 'query', 'message'),
        [
            ([6], [1.0], None, r'index: expected different numbers in 0\.\.5'),
            ([-1], [1.0], None, 'index'),
            ([1, 1], [1.0, 1.0], None, 'index'),
            ([0.5], [1.0], None, 'index'),
            ([1], [1.0, 2.0], None, 'values'),
            ([1], [1.0], [1, 2], 'query'),
        ],
    )
    def test_bad_input(self, index, values, query, message):
        mean, covariance = problem()
        with pytest.raises(ValueError, match=message):
            condition(mean, covariance, index, values, query)


class TestConditionalResidual:
    @pytest.mark.parametrize('block', [1, 2, 3])
    def test_agrees_with_conditioning_one_block_at_a_time(self, block):
        residual, covariance = problem(4)
        zero = torch.zeros_like(residual)
        value = conditional_residual(residual, covariance, block).reshape(4, -1, block)
        for i in range(6 // block):
            inside = list(range(i * block, (i + 1) * block))
            others = [j for j in range(6) if j not in inside]
            expectation, _ = condition(zero, covariance, others, residual[:, others])
            torch.testing.assert_close(value[:, i], residual[:, inside] - expectation)

    def test_shapes(self):
        residual, covariance = problem(4)
        assert conditional_residual(residual, covariance).shape == (4, 6)
        assert conditional_residual(residual, covariance, block=2).shape == (4, 3, 2)

    def test_missing_is_zero_also_within_a_joint(self):
        residual, covariance = problem(4)
        value = conditional_residual(residual, covariance, 2, MASK).flatten(-2)
        assert (value[:, ~MASK] == 0).all()
        kept = residual[:, MASK], covariance[:, MASK][:, :, MASK]
        # Joint 0 has only x left: its block in the marginal is a scalar.
        torch.testing.assert_close(value[:, 0], conditional_residual(*kept)[:, 0])
        together = condition(torch.zeros(4, dtype=D), kept[1], [0, 3], kept[0][:, [0, 3]])[0]
        torch.testing.assert_close(value[:, 2:4], kept[0][:, 1:3] - together)

    def test_tac_of_independent_dimensions_is_the_mean_error(self):
        residual = torch.randn(4, 6, dtype=D)
        covariance = torch.diag(torch.rand(6, dtype=D) + 0.1)
        torch.testing.assert_close(tac(residual, covariance), residual.abs().mean(-1))
        joints = residual.unflatten(-1, (3, 2)).norm(dim=-1).mean(-1)
        torch.testing.assert_close(tac(residual, covariance, block=2), joints)

    @pytest.mark.parametrize('block', [0, -1, 4])
    def test_bad_block(self, block):
        with pytest.raises(ValueError, match='block'):
            tac(*problem(2), block=block)


class TestSample:
    def test_moments(self):
        mean, covariance = problem(2, dim=3)
        draws = sample(mean, covariance, 100_000)
        assert draws.shape == (100_000, 2, 3)
        torch.testing.assert_close(draws.mean(0), mean, rtol=0, atol=0.03)
        torch.testing.assert_close(draws[:, 1].T.cov(), covariance[1], rtol=0.05, atol=0.03)

    def test_generator_and_broadcasting(self):
        mean, covariance = torch.zeros(5, 3), random_covariance(4, 1, dim=3, dtype=torch.float32)
        first, second = (
            sample(mean, covariance, 2, torch.Generator().manual_seed(1)) for _ in range(2)
        )
        assert first.shape == (2, 4, 5, 3)
        assert torch.equal(first, second)
        with pytest.raises(ValueError, match='count'):
            sample(mean, covariance, -1)


class TestRecalibrate:
    def test_scalar(self):
        covariance = random_covariance(2, dim=4)
        expected = 2 * covariance + 0.5 * torch.eye(4, dtype=D)
        torch.testing.assert_close(recalibrate(covariance, 2.0, 0.5), expected)

    def test_equal_values_agree_in_every_form(self):
        covariance = random_covariance(2, dim=4)
        expected = recalibrate(covariance, 2.0, 0.5)
        for size in (1, 2, 4):
            alpha, beta = torch.full((size,), 2.0), torch.full((size,), 0.5)
            torch.testing.assert_close(recalibrate(covariance, alpha, beta), expected)

    def test_per_joint_keeps_the_correlations(self):
        covariance = random_covariance(2, dim=4)
        value = recalibrate(covariance, torch.tensor([4.0, 9.0]))
        scale = torch.tensor([2.0, 2.0, 3.0, 3.0], dtype=D)
        torch.testing.assert_close(value, torch.outer(scale, scale) * covariance)

    def test_gradients(self):
        covariance = random_covariance(2, dim=4).requires_grad_()
        alpha = torch.rand(2, dtype=D).add(0.5).requires_grad_()
        beta = torch.rand((), dtype=D).requires_grad_()
        assert gradcheck(recalibrate, (covariance, alpha, beta))

    @pytest.mark.parametrize(
        ('alpha', 'beta', 'message'),
        [(-1.0, 0.0, 'alpha'), (1.0, -1.0, 'beta'), (torch.ones(3), 0.0, 'alpha')],
    )
    def test_bad_input(self, alpha, beta, message):
        with pytest.raises(ValueError, match=message):
            recalibrate(torch.eye(4), alpha, beta)


@pytest.mark.parametrize('given', ['covariance', 'scale_tril'])
def test_a_masked_likelihood_is_that_of_the_marginal_to_the_last_digits(given):
    residual, covariance = problem(4)
    value = covariance if given == 'covariance' else torch.linalg.cholesky(covariance)
    found = negative_log_likelihood(residual, mask=MASK, **{given: value})
    marginal = covariance[:, MASK][:, :, MASK]
    expected = -MultivariateNormal(torch.zeros(4, dtype=D), marginal).log_prob(residual[:, MASK])
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)


def test_a_masked_factor_keeps_what_float32_resolves():
    torch.manual_seed(0)
    dim = 6
    factor = torch.randn(400, dim, dim).tril(-1) + torch.diag_embed(torch.full((400, dim), 1e-2))
    mask = torch.arange(dim) != 1
    residual = (factor @ torch.randn(400, dim, 1))[..., 0]
    exact = negative_log_likelihood(residual.double(), mask=mask, scale_tril=factor.double())
    found = negative_log_likelihood(residual, mask=mask, scale_tril=factor)
    product = negative_log_likelihood(residual, factor @ factor.mT, mask)
    error, lost = ((value.double() - exact).abs().max() for value in (found, product))
    assert error < 0.01
    assert error < lost / 20


def test_the_gradient_of_a_masked_factor():
    residual, covariance = problem(2)
    factor = torch.linalg.cholesky(covariance).requires_grad_()

    def loss(value):
        return negative_log_likelihood(residual, mask=MASK, scale_tril=value.tril())

    assert gradcheck(loss, (factor,))


@pytest.mark.parametrize('name', ['mean', 'values', 'covariance'])
def test_conditioning_on_nan_is_refused(name):
    mean, covariance = problem()
    given = dict(mean=mean, covariance=covariance, values=torch.zeros(2, dtype=D))
    given[name] = torch.full_like(given[name], torch.nan)
    with pytest.raises(ValueError, match=f'{name}.*NaN'):
        condition(given['mean'], given['covariance'], [0, 3], given['values'])
