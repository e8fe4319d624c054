"""Student-t predictions in every score: right for their own draws, the Gaussian's at ν = ∞."""

from dataclasses import replace

import pytest
import torch
from helpers import random_covariance
from scipy import special, stats
from torch import Tensor

from hetpose.evaluation.functional.calibration import (
    coverage,
    marginal_pit,
    pit,
    sharpness,
    squared_radius,
)
from hetpose.evaluation.functional.conformal import ConformalEllipsoids
from hetpose.evaluation.functional.energy_score import energy_score, energy_score_monte_carlo
from hetpose.evaluation.functional.pose import pose_scores, score_means
from hetpose.evaluation.functional.recalibration import fit_per_block, fit_scale_and_floor
from hetpose.evaluation.functional.scores import calibration_scores
from hetpose.ops.disc import disc_probability
from hetpose.ops.distribution import Distribution
from hetpose.ops.gate import moving_probability
from hetpose.ops.gaussian import mahalanobis_squared
from hetpose.ops.student import predictive_nll, sample, scale_from_covariance
from hetpose.visualization.geometry import coverage_radius

D = torch.float64
COUNT, DIM = 6000, 4


def draws(count: int = COUNT, dim: int = DIM) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Residuals of Student-t predictions with different ν, a fifth of them missing."""
    torch.manual_seed(0)
    nu = 2.2 + 6 * torch.rand(count, dtype=D)
    covariance = random_covariance(count, dim=dim)
    scale = scale_from_covariance(covariance, nu)
    residual = sample(torch.zeros(count, dim, dtype=D), scale, nu, 1)[0]
    mask = torch.rand(count, dim) > 0.2
    return torch.where(mask, residual, torch.nan), covariance, mask, nu


ONE = torch.ones(3, 2, dtype=D)
EYE = torch.eye(2, dtype=D).expand(3, 2, 2)


@pytest.mark.parametrize('nu', [1.5, 2.0, float('nan')])
@pytest.mark.parametrize(
    'call',
    [
        lambda nu: pit(ONE, EYE, None, nu),
        lambda nu: marginal_pit(ONE, EYE, None, nu),
        lambda nu: squared_radius(0.9, 2, nu),
        lambda nu: ConformalEllipsoids.fit(ONE, EYE, degrees_of_freedom=nu),
        lambda nu: fit_scale_and_floor(ONE, EYE, degrees_of_freedom=nu),
        lambda nu: energy_score(ONE, EYE, None, nu),
        lambda nu: disc_probability(EYE, 1.0, nu),
        lambda nu: moving_probability(ONE, EYE, 8.0, nu),
        lambda nu: coverage_radius(0.9, nu[0].item()),
    ],
    ids=['pit', 'marginal_pit', 'radius', 'conformal', 'scale', 'energy', 'disc', 'gate', 'drawn'],
)
def test_tails_without_a_covariance_are_an_error_that_names_them(call, nu) -> None:
    with pytest.raises(ValueError, match='degrees_of_freedom: (expected|holds NaN)'):
        call(torch.full((3,), nu, dtype=D))


def endless(count: int = COUNT) -> Tensor:
    return torch.full((count,), torch.inf, dtype=D)


def test_pit_is_uniform() -> None:
    residual, covariance, mask, nu = draws()
    values = pit(residual, covariance, mask, nu)
    here = mask.any(-1)
    assert values[~here].isnan().all()
    assert stats.kstest(values[here], 'uniform').statistic < 0.02
    assert coverage(values, torch.tensor([0.9], dtype=D)).item() == pytest.approx(0.9, abs=0.015)
    as_gaussian = pit(residual, covariance, mask)
    assert stats.kstest(as_gaussian[here], 'uniform').statistic > 0.1


def test_marginal_pit_is_uniform() -> None:
    residual, covariance, mask, nu = draws()
    values = marginal_pit(residual, covariance, mask, nu)
    assert values[~mask].isnan().all()
    assert stats.kstest(values[mask], 'uniform').statistic < 0.015


def test_infinite_degrees_of_freedom_are_the_gaussian() -> None:
    residual, covariance, mask, _ = draws(300)
    residual = residual.nan_to_num()
    nu = endless(300)
    for function in (pit, marginal_pit, energy_score):
        torch.testing.assert_close(
            function(residual, covariance, mask, nu),
            function(residual, covariance, mask),
            equal_nan=True,
            rtol=1e-7,
            atol=1e-7,
        )
    heavy = calibration_scores(Distribution.of_residuals(residual, covariance, mask, nu))
    plain = calibration_scores(Distribution.of_residuals(residual, covariance, mask))
    for name, value in plain.numbers().items():
        assert heavy.numbers()[name] == pytest.approx(value, rel=1e-6, nan_ok=True)
    assert heavy.heavy_tailed
    assert not plain.heavy_tailed


@pytest.mark.parametrize(('nu', 'error'), [(2.1, 1e-2), (3.0, 2e-3), (5.0, 1e-4), (20.0, 1e-9)])
@pytest.mark.parametrize('residual', [0.0, 1.0, 20.0, 1000.0])
def test_energy_score_of_one_dimension_is_the_crps(nu, error, residual) -> None:
    density, mass = stats.t.pdf(residual, nu), stats.t.cdf(residual, nu)
    spread = special.beta(0.5, nu - 0.5) / special.beta(0.5, nu / 2) ** 2
    crps = residual * (2 * mass - 1) + 2 * density * (nu + residual**2) / (nu - 1)
    crps -= 2 * nu**0.5 / (nu - 1) * spread
    covariance = torch.tensor([[nu / (nu - 2)]], dtype=D)
    found = energy_score(
        torch.tensor([residual], dtype=D), covariance, None, torch.tensor(nu, dtype=D)
    )
    assert found.item() == pytest.approx(crps, rel=error if residual > 1 else 1e-9)


@pytest.mark.parametrize('nu', [3.0, 12.0])
def test_energy_score_against_sampling(nu) -> None:
    torch.manual_seed(0)
    covariance = random_covariance(40, dim=3)
    residual = 2 * torch.randn(40, 3, dtype=D)
    mask = torch.rand(40, 3) > 0.2
    ours = torch.full((40,), nu, dtype=D)
    exact = energy_score(residual, covariance, mask, ours)
    estimates = torch.stack(
        [
            energy_score_monte_carlo(residual, covariance, mask, 200, seed, ours)
            for seed in range(20)
        ]
    )
    error = (estimates.mean(0) - exact).mean().abs()
    assert error < 5 * estimates.mean(1).std() / 20**0.5
    torch.testing.assert_close(estimates.mean(0), exact, rtol=0.1, atol=0.06)


def test_energy_score_prefers_the_right_tails() -> None:
    residual, covariance, mask, nu = draws(2000)
    residual = residual.nan_to_num()
    right = energy_score(residual, covariance, mask, nu).mean()
    assert right < energy_score(residual, covariance, mask).mean()


def test_ellipses_hold_what_they_promise() -> None:
    residual, covariance, mask, nu = draws(dim=2)
    radius = squared_radius(0.8, 2, nu)
    distance = mahalanobis_squared(residual.nan_to_num(), covariance)
    inside = distance[mask.all(-1)] <= radius[mask.all(-1)]
    assert inside.double().mean() == pytest.approx(0.8, abs=0.02)
    area = sharpness(covariance, level=0.8, degrees_of_freedom=nu).ellipse_area
    expected = (torch.pi * radius * torch.linalg.det(covariance).sqrt()).mean().item()
    assert area == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize('kind', ['whole', 'per_block', 'simultaneous'])
def test_conformal_scale_of_a_right_model_is_one(kind) -> None:
    residual, covariance, mask, nu = draws()
    mask = mask.unflatten(-1, (-1, 2)).all(-1).repeat_interleave(2, -1)
    residual = residual.nan_to_num()
    fitted = ConformalEllipsoids.fit(residual, covariance, mask, 0.9, kind, degrees_of_freedom=nu)
    if kind != 'simultaneous':
        assert fitted.scale == pytest.approx([1] * len(fitted.scale), abs=0.12)
    inside = fitted.contains(residual, covariance, mask, nu)
    known = mask.unflatten(-1, (-1, 2)).any(-1) if kind == 'per_block' else mask.any(-1)[:, None]
    assert inside[known].double().mean() == pytest.approx(0.9, abs=0.01)
    with pytest.raises(ValueError, match='fitted with them, not without'):
        fitted.radius_squared(2)
    assert ConformalEllipsoids.from_dict(fitted.to_dict()) == fitted
    (first, *_) = fitted.radius_squared(2, 5.0)
    assert first == pytest.approx(
        fitted.scale[0] * squared_radius(0.9, 2, torch.tensor(5.0, dtype=D)).item()
    )


class TestRecalibration:
    def test_finds_the_scale(self) -> None:
        residual, covariance, mask, nu = draws()
        residual = residual.nan_to_num()
        alpha, beta = fit_scale_and_floor(residual, covariance / 3, mask, False, nu)
        assert alpha == pytest.approx(3, rel=0.05)
        assert beta == 0

    def test_is_the_best_scale(self) -> None:
        residual, covariance, mask, nu = draws(500)
        residual = residual.nan_to_num()
        alpha, _ = fit_scale_and_floor(residual, covariance, mask, False, nu)

        def likelihood(factor: float) -> float:
            return predictive_nll(residual, factor * covariance, nu, mask).mean().item()

        assert likelihood(alpha) < likelihood(1.02 * alpha)
        assert likelihood(alpha) < likelihood(alpha / 1.02)

    def test_finds_scale_and_floor(self) -> None:
        torch.manual_seed(0)
        nu = torch.full((COUNT,), 4.0, dtype=D)
        predicted = random_covariance(COUNT, dim=DIM)
        truth = 0.7 * predicted + 0.5 * torch.eye(DIM, dtype=D)
        residual = sample(
            torch.zeros(COUNT, DIM, dtype=D), scale_from_covariance(truth, nu), nu, 1
        )[0]
        alpha, beta = fit_scale_and_floor(residual, predicted, degrees_of_freedom=nu)
        assert alpha == pytest.approx(0.7, abs=0.08)
        assert beta == pytest.approx(0.5, abs=0.06)
        alphas, betas = fit_per_block(residual, predicted, degrees_of_freedom=nu)
        assert len(alphas) == len(betas) == DIM // 2

    @pytest.mark.parametrize('floor', [False, True])
    def test_is_the_gaussian_closed_form_at_infinity(self, floor) -> None:
        residual, covariance, mask, _ = draws(400)
        residual = residual.nan_to_num()
        plain = fit_scale_and_floor(residual, covariance, mask, floor)
        heavy = fit_scale_and_floor(residual, covariance, mask, floor, endless(400))
        assert heavy == pytest.approx(plain, rel=1e-4, abs=1e-9)

    def test_perfect_means_do_not_break_it(self) -> None:
        zero = torch.zeros(5, DIM, dtype=D)
        nu = torch.full((5,), 3.0, dtype=D)
        alpha, _ = fit_scale_and_floor(zero, random_covariance(5, dim=DIM), None, False, nu)
        assert 0 <= alpha < 1e-100


def test_pose_metrics_judge_by_the_tails() -> None:
    residual, covariance, mask, nu = draws()
    mask = mask.unflatten(-1, (-1, 2)).all(-1).repeat_interleave(2, -1)
    residual = torch.where(mask, residual.nan_to_num(), 0.0)
    kept = mask.any(-1)
    truth = torch.linalg.cholesky_ex(covariance).L
    errors = Distribution.of_residuals(
        residual[kept], covariance[kept], mask[kept], nu[kept], truth[kept]
    )
    heavy = score_means(pose_scores(errors, (0.5, 0.9)))
    gaussians = replace(errors, degrees_of_freedom=None)
    plain = score_means(pose_scores(gaussians, (0.5, 0.9)))
    assert heavy['coverage_90'] == pytest.approx(0.9, abs=0.01)
    gap = abs(plain['coverage_50'] - 0.5)
    assert abs(heavy['coverage_50'] - 0.5) < 0.02 < 0.05 < gap
    assert heavy['nll'] < plain['nll'] - 0.1
    assert heavy['tac'] == plain['tac']
    assert plain['kl'] == pytest.approx(0, abs=1e-6)
    assert heavy['kl'] > 0.05
    scaled = errors.rescaled(torch.full((int(kept.sum()), 2), 3.0, dtype=D))
    assert torch.equal(scaled.degrees_of_freedom, errors.degrees_of_freedom)
