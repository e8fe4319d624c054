"""The filter and the smoother are conditioning of one large Gaussian, step by step."""

import pytest
import torch
from helpers import random_covariance
from torch import Tensor

from hetpose.ops.gaussian import condition, negative_log_likelihood
from hetpose.ops.kalman import (
    Gaussian,
    Motion,
    constant_velocity,
    limb_correlation,
    predict,
    smooth,
    smooth_sequence,
    update,
)

DIM, STEPS = 4, 5


@pytest.fixture
def problem() -> dict:
    torch.manual_seed(0)
    motions = [constant_velocity(random_covariance(dim=DIM), 0.1 + 0.2 * t) for t in range(4)]
    mask = torch.rand(STEPS, DIM) > 0.3
    mask[2] = False  # a whole frame is missing
    return dict(
        start=Gaussian(torch.randn(2 * DIM).double(), random_covariance(dim=2 * DIM)),
        motions=motions,
        values=torch.randn(STEPS, DIM).double(),
        noises=random_covariance(STEPS, dim=DIM),
        mask=mask,
    )


def joint_distribution(start: Gaussian, motions: list[Motion]) -> tuple[Tensor, Tensor]:
    """Mean and covariance of all states in one vector, from the definition of the motion."""
    size = 2 * DIM
    means, total = [start.mean], torch.zeros(size * STEPS, size * STEPS, dtype=torch.float64)
    total[:size, :size] = start.covariance
    for t, (transition, noise) in enumerate(motions, start=1):
        now, past = slice(t * size, (t + 1) * size), slice((t - 1) * size, t * size)
        means.append(transition @ means[-1])
        total[now, : t * size] = transition @ total[past, : t * size]
        total[: t * size, now] = total[now, : t * size].mT
        total[now, now] = transition @ total[past, past] @ transition.mT + noise
    return torch.cat(means), total


def given_all(problem: dict, last: int) -> tuple[list[Gaussian], Tensor]:
    """Every state given the measurements 0..last, and their likelihood, by one conditioning."""
    size = 2 * DIM
    mean, total = joint_distribution(problem['start'], problem['motions'])
    rows = [t * size + i for t in range(last + 1) for i in range(DIM) if problem['mask'][t, i]]
    picked = torch.eye(size * STEPS).double()[rows]
    errors = torch.zeros(STEPS * DIM, STEPS * DIM).double()
    for t, noise in enumerate(problem['noises']):
        errors[t * DIM : (t + 1) * DIM, t * DIM : (t + 1) * DIM] = noise
    present = problem['mask'].flatten()[: (last + 1) * DIM].nonzero()[:, 0]
    errors = errors[present][:, present]
    values = problem['values'].flatten()[present]
    everything = torch.cat([mean, picked @ mean])
    cross = picked @ total
    covariance = torch.cat(
        [torch.cat([total, cross.mT], 1), torch.cat([cross, cross @ picked.mT + errors], 1)]
    )
    index = torch.arange(len(mean), len(everything))
    found, spread = condition(everything, covariance, index, values)
    states = [
        Gaussian(found[s : s + size], spread[s : s + size, s : s + size])
        for s in range(0, STEPS * size, size)
    ]
    measured = covariance[index][:, index]
    return states, -negative_log_likelihood(values - everything[index], measured)


def run_filter(problem: dict) -> tuple[list[Gaussian], Tensor]:
    state, found, likelihood = problem['start'], [], torch.zeros(()).double()
    for t in range(STEPS):
        state = predict(state, problem['motions'][t - 1]) if t else state
        value = torch.where(problem['mask'][t], problem['values'][t], torch.nan)
        state, density = update(state, value, problem['noises'][t], problem['mask'][t])
        found.append(state)
        likelihood = likelihood + density
    return found, likelihood


def assert_same(found: Gaussian, expected: Gaussian) -> None:
    torch.testing.assert_close(found.mean, expected.mean, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(found.covariance, expected.covariance, rtol=1e-8, atol=1e-8)


def test_the_filter_is_conditioning_on_the_past(problem: dict) -> None:
    found, likelihood = run_filter(problem)
    for t in range(STEPS):
        states, _ = given_all(problem, t)
        assert_same(found[t], states[t])
    torch.testing.assert_close(likelihood, given_all(problem, STEPS - 1)[1])


def test_the_smoother_is_conditioning_on_everything(problem: dict) -> None:
    found = smooth_sequence(run_filter(problem)[0], problem['motions'])
    expected, _ = given_all(problem, STEPS - 1)
    for state, wanted in zip(found, expected, strict=True):
        assert_same(state, wanted)


def test_a_batch_is_every_item_alone(problem: dict) -> None:
    start, value, noise = problem['start'], problem['values'][0], problem['noises'][:3]
    many = Gaussian(start.mean.expand(3, -1), start.covariance.expand(3, -1, -1))
    mask = problem['mask'][:3]
    updated, density = update(many, value.expand(3, -1), noise, mask)
    later = Gaussian(torch.randn(3, 2 * DIM).double(), random_covariance(3, dim=2 * DIM))
    back = smooth(updated, problem['motions'][0], later)
    for i in range(3):
        alone, alone_density = update(start, value, noise[i], mask[i])
        assert_same(Gaussian(updated.mean[i], updated.covariance[i]), alone)
        torch.testing.assert_close(density[i], alone_density)
        single = smooth(alone, problem['motions'][0], Gaussian(*(part[i] for part in later)))
        assert_same(Gaussian(back.mean[i], back.covariance[i]), single)


def test_time_may_be_cut_into_pieces() -> None:
    torch.manual_seed(0)
    acceleration = random_covariance(dim=3).mT  # of any layout in memory
    start = Gaussian(torch.randn(6).double(), random_covariance(dim=6))
    halves = start
    for _ in range(2):
        halves = predict(halves, constant_velocity(acceleration, 0.2))
    assert_same(halves, predict(start, constant_velocity(acceleration, 0.4)))


def test_a_large_error_leaves_a_place_to_what_it_is_correlated_with() -> None:
    """Two places move alike; the second is not seen: it follows the first."""
    alike = torch.tensor([[1.0, 0.99], [0.99, 1.0]]).double()
    motion = constant_velocity(alike, 1.0)
    state = Gaussian(torch.zeros(4).double(), 0.01 * torch.eye(4).double())
    noise = torch.diag(torch.tensor([0.01, 100.0])).double()
    found, _ = update(predict(state, motion), torch.tensor([5.0, -5.0]).double(), noise)
    assert found.mean[1] > 4


def test_covariances_stay_positive_definite_over_a_long_time() -> None:
    """Sizes of a real video: errors from 1e-3 to 1e3 pixels, 1,000 frames."""
    torch.manual_seed(0)
    motion = constant_velocity(1e4 * torch.eye(6).double(), 0.04)
    state = Gaussian(torch.zeros(12).double(), 1e8 * torch.eye(12).double())
    found = []
    for t in range(1000):
        scale = 10.0 ** torch.linspace(-3, 3, 6).double().roll(t)
        noise = scale[:, None] * random_covariance(dim=6) * scale
        state, _ = update(predict(state, motion), torch.randn(6).double(), noise)
        found.append(state)
    for state in smooth_sequence(found, [motion] * 999):
        assert torch.linalg.eigvalsh(state.covariance[:6, :6]).min() > 0


def test_bones_make_joints_move_alike() -> None:
    chain = [(0, 1), (1, 2), (2, 3)]
    correlation = limb_correlation(5, chain, 2.0)
    assert torch.linalg.eigvalsh(correlation).min() > 0
    torch.testing.assert_close(correlation.diagonal(), torch.ones(5).double())
    assert correlation[0, 1] > correlation[0, 2] > correlation[0, 3] > correlation[0, 4] == 0
    torch.testing.assert_close(limb_correlation(5, chain, 0.0), torch.eye(5).double())
    ring = limb_correlation(4, [*chain, (3, 0)], 1e6)  # a ring, all but rigid
    torch.testing.assert_close(ring, torch.ones(4, 4).double(), atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ('call', 'message'),
    [
        (lambda: constant_velocity(torch.eye(2), 0.0), 'interval'),
        (lambda: constant_velocity(torch.ones(2), 1.0), 'acceleration'),
        (lambda: limb_correlation(2, [(0, 1)], -1.0), 'coupling'),
        (lambda: smooth_sequence([Gaussian(torch.ones(2), torch.eye(2))], [0]), 'motions'),
    ],
)
def test_bad_arguments_are_named(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
