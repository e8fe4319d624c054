"""Kalman filter and Rauch-Tung-Striebel smoother for places that move.

The state x holds d places, their d velocities and, where errors persist, d errors. A measurement
is the places with a full covariance of their errors, another one at every time: where it is large,
the state follows the motion so far and the measurements that it is correlated with. Everything is
computed in float64, and every covariance is formed as a sum of M P Mᵀ, so that rounding cannot
make it indefinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from hetpose.ops.spd import mask_matrix, safe_cholesky, solve
from hetpose.ops.validation import check_mask, check_square, check_vector


class Gaussian(NamedTuple):
    """A state: mean (..., s) and covariance (..., s, s)."""

    mean: Tensor
    covariance: Tensor


class Motion(NamedTuple):
    """One step of time, x' = F x + w with w ~ N(0, Q): transition F and noise Q, both (s, s)."""

    transition: Tensor
    noise: Tensor


def constant_velocity(acceleration: Tensor, interval: float) -> Motion:
    """Velocities that drift: the integral of white noise of spectral density ``acceleration``.

    F = [[I, tI], [0, I]] and Q = [[t³/3, t²/2], [t²/2, t]] ⊗ A over an interval t. Two steps of
    t/2 are one of t, exactly.

    Shapes: acceleration A (d, d) -> F and Q (2d, 2d).
    """
    dim = check_square(acceleration, 'acceleration')
    if not interval > 0:
        raise ValueError(f'interval: expected a time above 0, got {interval}')
    acceleration = acceleration.double().contiguous()  # torch.kron refuses other layouts
    step = torch.tensor([[1, interval], [0, 1]], dtype=torch.float64)
    spread = torch.tensor(
        [[interval**3 / 3, interval**2 / 2], [interval**2 / 2, interval]], dtype=torch.float64
    )
    identity = torch.eye(dim, dtype=torch.float64)
    return Motion(torch.kron(step, identity), torch.kron(spread, acceleration))


def with_error(motion: Motion, correlation: float) -> Motion:
    """The same motion, with d errors of unit variance behind the d places and d velocities.

    The errors are correlated from one time to the next, u' = ρ u + √(1 − ρ²) w. A measurement
    y = x + L u with L Lᵀ = Σ, H = [I, 0, L] and no other noise, then has the covariance Σ at every
    time, and errors that persist.

    Shapes: F and Q (2d, 2d) -> (3d, 3d).
    """
    if not 0 <= correlation < 1:
        raise ValueError(f'correlation: expected a number in 0 <= r < 1, got {correlation}')
    identity = torch.eye(len(motion.noise) // 2, dtype=torch.float64)
    return Motion(
        torch.block_diag(motion.transition, correlation * identity),
        torch.block_diag(motion.noise, (1 - correlation**2) * identity),
    )


def limb_correlation(joints: int, links: Sequence[Sequence[int]], coupling: float) -> Tensor:
    """The correlation of the motions of joints, from the bones between them: (K, K).

    (I + coupling·L)⁻¹, scaled to a unit diagonal, with L the Laplacian of the graph of bones: 0
    makes the joints independent, a large coupling moves all that is connected together.
    """
    if coupling < 0:
        raise ValueError(f'coupling: expected a number >= 0, got {coupling}')
    laplacian = torch.zeros(joints, joints, dtype=torch.float64)
    for a, b in links:
        laplacian[a, a] += 1
        laplacian[b, b] += 1
        laplacian[a, b] -= 1
        laplacian[b, a] -= 1
    identity = torch.eye(joints, dtype=torch.float64)
    kernel = solve(identity + coupling * laplacian, identity, 'the graph of bones')
    scale = kernel.diagonal().rsqrt()
    return _symmetric(scale[:, None] * kernel * scale).contiguous()


def predict(state: Gaussian, motion: Motion) -> Gaussian:
    """The state one step later: F m and F P Fᵀ + Q."""
    transition = motion.transition
    covariance = transition @ state.covariance @ transition.mT + motion.noise
    return Gaussian((transition @ state.mean[..., None])[..., 0], _symmetric(covariance))


def update(
    state: Gaussian,
    value: Tensor,
    noise: Tensor,
    mask: Tensor | None = None,
    observation: Tensor | None = None,
) -> tuple[Gaussian, Tensor]:
    """The state given a measurement y = H x + e, e ~ N(0, R), and log p(y).

    What is missing has no influence: it has the same result as a measurement of the rest alone.

    Args:
        state: Before the measurement.
        value: y (..., d). What the mask leaves out may be NaN.
        noise: R (..., d, d).
        mask: True = present, (..., d).
        observation: H (..., d, s); None takes the first d dimensions of the state.

    Returns:
        The state, and log p(value) (...).
    """
    dim, size = check_square(noise, 'noise'), state.mean.shape[-1]
    check_vector(value, dim, 'value')
    value, noise = value.double(), noise.double()
    if mask is None:
        mask = torch.ones(dim, dtype=torch.bool)
    check_mask(mask, dim)
    if observation is None:
        observation = torch.eye(dim, size, dtype=torch.float64)
    # A row of zeros in H and a unit variance in the covariance of the innovation make the gain 0.
    observation = torch.where(mask[..., None], observation, 0.0)
    noise = torch.where(mask[..., :, None] & mask[..., None, :], noise, 0.0)
    expected = (observation @ state.mean[..., None])[..., 0]
    innovation = torch.where(mask, value - expected, 0.0)
    shared = observation @ state.covariance
    factor = safe_cholesky(
        mask_matrix(_symmetric(shared @ observation.mT + noise), mask),
        'the covariance of a measurement',
    )
    gain = torch.cholesky_solve(shared, factor).mT
    kept = torch.eye(size, dtype=torch.float64) - gain @ observation
    covariance = kept @ state.covariance @ kept.mT + gain @ noise @ gain.mT
    mean = state.mean + (gain @ innovation[..., None])[..., 0]
    return Gaussian(mean, _symmetric(covariance)), _log_density(factor, innovation, mask)


def _log_density(factor: Tensor, innovation: Tensor, mask: Tensor) -> Tensor:
    """log N(innovation; 0, L Lᵀ) of what is present: the rest has a unit variance and is 0."""
    white = torch.linalg.solve_triangular(factor, innovation[..., None], upper=False)[..., 0]
    determinant = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    constant = 0.5 * mask.sum(-1) * torch.log(torch.tensor(2 * torch.pi, dtype=torch.float64))
    return -0.5 * white.square().sum(-1) - determinant - constant


def smooth(filtered: Gaussian, motion: Motion, later: Gaussian) -> Gaussian:
    """The state given also all that was measured after it.

    With G = P Fᵀ (F P Fᵀ + Q)⁻¹: m + G (m' − F m) and (I − G F) P (I − G F)ᵀ + G (P' + Q) Gᵀ.

    Args:
        filtered: The state m, P given the measurements up to its time.
        motion: The step from there to the next time.
        later: The smoothed state m', P' of the next time.
    """
    ahead = predict(filtered, motion)
    back = solve(
        ahead.covariance, motion.transition @ filtered.covariance, 'the covariance of a state'
    ).mT
    mean = filtered.mean + (back @ (later.mean - ahead.mean)[..., None])[..., 0]
    identity = torch.eye(mean.shape[-1], dtype=torch.float64)
    kept = identity - back @ motion.transition
    covariance = (
        kept @ filtered.covariance @ kept.mT + back @ (later.covariance + motion.noise) @ back.mT
    )
    return Gaussian(mean, _symmetric(covariance))


def smooth_sequence(filtered: Sequence[Gaussian], motions: Sequence[Motion]) -> list[Gaussian]:
    """All states given all measurements, from the last to the first.

    Args:
        filtered: T states, each given the measurements up to its time.
        motions: The T − 1 steps between them.
    """
    if len(motions) != len(filtered) - 1:
        raise ValueError(f'motions: expected {len(filtered) - 1} steps, got {len(motions)}')
    states = [filtered[-1]]
    for state, motion in zip(filtered[-2::-1], motions[::-1], strict=True):
        states.append(smooth(state, motion, states[-1]))
    return states[::-1]


def _symmetric(matrix: Tensor) -> Tensor:
    return (matrix + matrix.mT) / 2
