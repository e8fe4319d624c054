import math

import pytest
import torch
from scipy import stats

from hetpose.evaluation.functional.conformal import ConformalEllipsoids, conformal_quantile

LEVEL = 0.9


def draw(repetitions: int, count: int, seed: int) -> tuple[torch.Tensor, ...]:
    """Residuals (R, n, 4) that no Gaussian fits (heavy tails, wrong scale), a constant Σ and a
    mask.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (repetitions, count, 4)
    normal = torch.randn(shape, generator=generator, dtype=torch.float64)
    heavy = (
        torch.randn(repetitions, count, 1, generator=generator, dtype=torch.float64).abs() + 0.2
    )
    mask = torch.rand(repetitions, count, 2, generator=generator) > 0.2
    covariance = torch.diag(torch.tensor([1.0, 4, 1, 9], dtype=torch.float64))
    return 3 * normal / heavy, covariance.expand(*shape, 4), mask.repeat_interleave(2, -1)


@pytest.mark.parametrize('kind', ['whole', 'per_block', 'simultaneous'])
def test_coverage_is_at_least_nominal_over_a_thousand_repetitions(kind):
    """Marginally: over draws of the held-out set and of one new sample, within binomial error."""
    repetitions, count = 1000, 60
    residual, covariance, mask = draw(repetitions, count + 1, seed=0)
    inside, present = 0, 0
    for r, c, m in zip(residual, covariance, mask, strict=True):
        fitted = ConformalEllipsoids.fit(r[:-1], c[:-1], m[:-1], LEVEL, kind)
        found = fitted.contains(r[-1:], c[-1:], m[-1:])
        known = m[-1:].unflatten(-1, (2, 2)).any(-1)
        known = known if kind == 'per_block' else known.any(-1, keepdim=True)
        inside += int((found & known).sum())
        present += int(known.sum())
    error = math.sqrt(LEVEL * (1 - LEVEL) / repetitions)
    assert inside / present >= LEVEL - 3 * error
    # And not by being useless: exchangeability bounds it by level + 1/(n + 1).
    assert inside / present <= LEVEL + 1 / (0.6 * count) + 3 * error


def test_gaussian_ellipsoids_of_the_same_data_fail():
    residual, covariance, mask = draw(1, 4000, seed=1)
    nominal = ConformalEllipsoids('whole', LEVEL, 2, (1.0,), (0,))
    assert nominal.contains(residual[0], covariance[0], mask[0]).double().mean() < 0.5


def test_a_right_model_needs_no_scaling():
    residual = torch.randn(20000, 4, dtype=torch.float64)
    identity = torch.eye(4, dtype=torch.float64).expand(20000, 4, 4)
    for kind in ('whole', 'per_block'):
        fitted = ConformalEllipsoids.fit(residual, identity, level=LEVEL, kind=kind)
        assert fitted.scale == pytest.approx([1] * len(fitted.scale), rel=0.05)
    whole = ConformalEllipsoids.fit(residual, identity, level=LEVEL)
    assert whole.radius_squared(4)[0] == pytest.approx(stats.chi2.ppf(LEVEL, 4), rel=0.05)
    # All of several ellipses at once need larger ones than each alone.
    assert ConformalEllipsoids.fit(residual, identity, None, LEVEL, 'simultaneous').scale[0] > 1.2


def test_quantile_is_the_right_order_statistic():
    scores = torch.arange(1.0, 10.0)  # nine of them: (9 + 1) · 0.9 = 9
    assert conformal_quantile(scores, 0.9) == 9
    assert conformal_quantile(scores, 0.5) == 5
    assert (
        conformal_quantile(scores, 0.91) == math.inf
    )  # nine samples cannot promise more than 90%
    with pytest.raises(ValueError, match='level'):
        conformal_quantile(scores, 1.0)


def test_dictionary_round_trip_keeps_an_infinite_scale():
    residual = torch.randn(5, 4, dtype=torch.float64)
    identity = torch.eye(4, dtype=torch.float64).expand(5, 4, 4)
    fitted = ConformalEllipsoids.fit(residual, identity, level=0.95, kind='per_block')
    assert fitted.scale == (math.inf, math.inf)
    assert fitted.to_dict()['scale'] == [None, None]
    assert ConformalEllipsoids.from_dict(fitted.to_dict()) == fitted
    assert fitted.contains(100 * residual, identity).all()


def test_unknown_kind_is_refused():
    with pytest.raises(ValueError, match='simultaneous'):
        ConformalEllipsoids.fit(torch.zeros(2, 2), torch.eye(2).expand(2, 2, 2), kind='joint')
