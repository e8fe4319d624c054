import math
from dataclasses import replace

import pytest
import torch

from hetpose.evaluation.functional.pose import (
    conditional_lengths,
    correct_keypoints,
    cross_fit,
    divergence_to_truth,
    inside_ellipses,
    pose_scores,
    score_means,
)
from hetpose.ops.distribution import Distribution
from hetpose.ops.gaussian import negative_log_likelihood
from hetpose.ops.moments import pair_sums, residual_covariance

SAMPLES, JOINTS = 4000, 3
DIM = 2 * JOINTS


def cross_fitted(residual: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The covariance (N, d, d) that each sample is judged by."""
    fitted, fold = cross_fit(residual, mask)
    return fitted[fold]


def gaussian(errors: Distribution, covariance: torch.Tensor) -> Distribution:
    """The same residuals under another covariance."""
    return replace(errors, covariance=covariance)


def drawn(missing: float = 0.0) -> tuple[Distribution, torch.Tensor]:
    """Residuals drawn from N(0, FFᵀ) with a factor per sample, judged by the true covariance."""
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(SAMPLES, DIM, DIM, generator=generator, dtype=torch.float64)
    noise = torch.randn(SAMPLES, DIM, 1, generator=generator, dtype=torch.float64)
    present = torch.rand(SAMPLES, JOINTS, generator=generator) >= missing
    errors = Distribution.of_residuals(
        (factor @ noise)[..., 0],
        factor @ factor.mT,
        present.repeat_interleave(2, dim=1),
        true_factor=factor,
    )
    return errors, present


@pytest.mark.parametrize('level', [0.5, 0.9, 0.95])
@pytest.mark.parametrize('missing', [0.0, 0.3])
def test_true_covariance_covers_what_it_says(level, missing):
    errors, _ = drawn(missing)
    assert inside_ellipses(errors, level).nanmean() == pytest.approx(level, abs=0.012)


def test_doubled_covariance_covers_what_the_radius_says():
    """P(χ²₂ ≤ 2q) = 1 − (1 − level)²."""
    errors, _ = drawn()
    wide = gaussian(errors, 2 * errors.covariance)
    assert inside_ellipses(wide, 0.5).nanmean() == pytest.approx(0.75, abs=0.012)


def test_truth_is_no_distance_from_itself():
    errors, _ = drawn(0.2)
    kl, w2 = divergence_to_truth(errors)
    assert kl == pytest.approx(0, abs=1e-6)
    assert w2 == pytest.approx(0, abs=1e-6)


def test_divergences_of_a_scaled_identity():
    """KL(I ‖ 4I) = d/2 (1/4 − 1 + log 4) and W2² = d (2 − 1)², over the present coordinates."""
    eye = torch.eye(DIM, dtype=torch.float64)[None]
    mask = torch.tensor([[True] * 4 + [False] * 2])
    errors = Distribution.of_residuals(
        torch.zeros(1, DIM).double(), 4 * eye, mask, true_factor=eye
    )
    kl, w2 = divergence_to_truth(errors)
    assert kl == pytest.approx(2 * (0.25 - 1 + math.log(4)))
    assert w2 == pytest.approx(4)


def test_units():
    """r ↦ sr: MSE and W2 grow by s², NLL by n log s; KL, coverage and TAC/s stay."""
    errors, present = drawn(0.3)
    scaled = errors.rescaled(torch.full((SAMPLES, 2), 3.0, dtype=torch.float64))
    before, after = (score_means(pose_scores(e, (0.9,))) for e in (errors, scaled))
    assert after['mse'] == pytest.approx(9 * before['mse'])
    shift = 2 * present.sum(1).double().mean().item() * math.log(3)
    assert after['nll'] == pytest.approx(before['nll'] + shift)
    assert after['coverage_90'] == before['coverage_90']
    assert after['tac'] == pytest.approx(3 * before['tac'])
    wide = gaussian(errors, 2 * errors.covariance)
    (kl, w2), (kl_scaled, w2_scaled) = (
        divergence_to_truth(e)
        for e in (wide, wide.rescaled(torch.full((SAMPLES, 2), 3.0, dtype=torch.float64)))
    )
    assert kl_scaled == pytest.approx(kl)
    assert w2_scaled == pytest.approx(9 * w2)


def test_tac_of_independent_joints_is_the_distance():
    errors, present = drawn(0.3)
    eye = torch.eye(DIM, dtype=torch.float64).expand(SAMPLES, DIM, DIM)
    distance = errors.residual.unflatten(-1, (JOINTS, 2)).norm(dim=-1)
    expected = torch.stack([distance[present[:, k], k].mean() for k in range(JOINTS)])
    torch.testing.assert_close(conditional_lengths(gaussian(errors, eye)).nanmean(0), expected)


def test_tac_of_a_joint_that_is_never_there_is_nan():
    errors, _ = drawn()
    mask = errors.mask.clone()
    mask[:, :2] = False
    tac = conditional_lengths(
        Distribution.of_residuals(errors.residual, errors.covariance, mask)
    ).nanmean(0)
    assert tac[0].isnan()
    assert tac[1:].isfinite().all()


def test_correct_keypoints():
    residual = torch.tensor([[3.0, 4.0, 0.0, 1.0], [6.0, 8.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    mask = torch.tensor([[True] * 4, [True, True, False, False], [True] * 4])
    errors = Distribution.of_residuals(residual, torch.zeros(3, 4, 4), mask)
    size = torch.tensor([50.0, 50.0, math.nan])
    assert correct_keypoints(errors.residual, errors.mask, size, 0.1) == pytest.approx(2 / 3)
    assert correct_keypoints(errors.residual, errors.mask, size, 0.2) == 1


def test_cross_fitted_covariance_is_that_of_the_others():
    """Constant noise is found, and no sample helps to judge itself."""
    generator = torch.Generator().manual_seed(1)
    factor = torch.randn(DIM, DIM, generator=generator, dtype=torch.float64)
    residual = torch.randn(20_000, DIM, generator=generator, dtype=torch.float64) @ factor.mT
    mask = (torch.rand(20_000, JOINTS, generator=generator) > 0.2).repeat_interleave(2, dim=1)
    fitted = cross_fitted(residual, mask)
    truth = factor @ factor.mT
    assert ((fitted[0] - truth).abs().max() / truth.abs().max()).item() < 0.05
    changed = residual.clone()
    changed[0] *= 100
    again = cross_fitted(changed, mask)
    torch.testing.assert_close(again[0], fitted[0])
    assert not torch.allclose(again[1], fitted[1])


def test_covariance_of_few_incomplete_residuals_is_positive_definite():
    generator = torch.Generator().manual_seed(2)
    residual = torch.randn(5, DIM, generator=generator, dtype=torch.float64)
    mask = (torch.rand(5, JOINTS, generator=generator) > 0.4).repeat_interleave(2, dim=1)
    assert (
        torch.linalg.eigvalsh(residual_covariance(*pair_sums(residual, mask), shrink=True)).min()
        > 0
    )


def test_a_constant_covariance_of_few_samples_is_still_a_baseline():
    """Half of 100 samples hardly determine 28 dimensions; the likelihood must not explode."""
    generator = torch.Generator().manual_seed(3)
    factor = torch.eye(28).double() + 0.2 * torch.randn(28, 28, generator=generator).double()
    residual = torch.randn(100, 28, generator=generator, dtype=torch.float64) @ factor.mT
    mask = (torch.rand(100, 14, generator=generator) > 0.2).repeat_interleave(2, dim=1)
    fitted = cross_fitted(residual, mask)
    truth = negative_log_likelihood(residual, factor @ factor.mT, mask).mean()
    assert negative_log_likelihood(residual, fitted, mask).mean() < truth + 10


def test_a_joint_that_the_others_never_had_gets_a_common_variance():
    generator = torch.Generator().manual_seed(4)
    residual = torch.randn(100, 6, generator=generator, dtype=torch.float64)
    mask = torch.ones(100, 6, dtype=torch.bool)
    mask[:, 4:] = False
    mask[7, 4:] = True
    nll = negative_log_likelihood(residual, cross_fitted(residual, mask), mask)
    assert nll[7] < 20
    assert nll.mean() < 7


def test_bad_arguments():
    errors, _ = drawn()
    with pytest.raises(ValueError, match='level'):
        inside_ellipses(errors, 1.0)
    with pytest.raises(ValueError, match='folds'):
        cross_fit(errors.residual[:1], errors.mask[:1])
