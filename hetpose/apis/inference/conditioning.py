"""Condition a predicted pose on the known places of some joints.

A prediction is a Gaussian over all joints at once. Given the true place of some of them (a
corrected wrist, a marker), the others move to their conditional mean and their covariance shrinks
to the conditional one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hetpose.errors import UserError, unknown_name
from hetpose.ops import student
from hetpose.ops.disc import disc_probability
from hetpose.ops.gate import moving_probability
from hetpose.ops.gaussian import condition
from hetpose.ops.spd import joint_blocks, to_float64

Given = Mapping[str, Sequence[float]]
RIGHT_ODDS = 8.0
"""Prior odds that a joint's place is right, in the robust mode. Odds from 2 to 32 were tried on
errors of MoveNet on LSPET: at 8 the clicks for 5% and for 10% of the box were fewest together."""


class ConditionedPose(NamedTuple):
    """All joints, given some."""

    keypoints: np.ndarray  # (K, 2)
    covariance: np.ndarray  # (2K, 2K)
    degrees_of_freedom: float | None = None  # of a Student-t


def parse_given(text: str) -> dict[str, tuple[float, float]]:
    """Read ``'left_wrist=120,80.5; neck=100,30'`` into places by joint name, in pixels."""
    given: dict[str, tuple[float, float]] = {}
    for part in filter(None, (part.strip() for part in text.split(';'))):
        name, _, place = part.partition('=')
        try:
            x, y = (float(number) for number in place.split(','))
        except ValueError:
            raise UserError(
                f'cannot read {part!r}: write joint=x,y, and a semicolon between joints'
            ) from None
        if name.strip() in given:
            raise UserError(f'joint {name.strip()!r} is given twice')
        given[name.strip()] = (x, y)
    if not given:
        raise UserError('no joint is given: write joint=x,y, and a semicolon between joints')
    return given


def check_given(given: Given, names: Sequence[str]) -> None:
    """Refuse joints that the model does not have, and places that are not two finite numbers."""
    for name, place in given.items():
        if name not in names:
            raise unknown_name('joint', name, list(names))
        if np.shape(place) != (2,) or not np.isfinite(place).all():
            raise UserError(f'joint {name!r} needs two finite numbers x, y, got {place!r}')


def condition_pose(
    keypoints: np.ndarray,
    covariance: np.ndarray,
    given: Given,
    names: Sequence[str],
    degrees_of_freedom: float | None = None,
    robust: bool = False,
) -> ConditionedPose:
    """Mean and covariance of all joints, given the places of some.

    μ_r + Σ_rg Σ_gg⁻¹ (y_g − μ_g) and Σ_rr − Σ_rg Σ_gg⁻¹ Σ_gr for the rest r; the given joints g
    have the given place and no covariance. Neither has a joint that was given before: it stays
    where it is and tells nothing about the others. A Student-t has the same mean; its covariance
    grows where the given places were improbable, and its degrees of freedom by the numbers given.

    That mean is linear in the correction: a gross one drags joints that were right. The robust
    mode moves a joint by the part of its way that is the probability that its present place was
    wrong (``hetpose.ops.gate``), and adds to its covariance what that leaves open. Give it the
    first prediction and all corrections so far: step by step it ends elsewhere, because what a
    step leaves open counts as certain in the next.

    Args:
        keypoints: Means (K, 2), in pixels.
        covariance: Σ (2K, 2K), in pixels², order x1, y1, x2, y2, ...
        given: Places (x, y) by joint name.
        names: Names of the K joints.
        degrees_of_freedom: ν > 2 of a Student-t; None for a Gaussian.
        robust: Whether a joint moves only where its present place has become improbable.

    Returns:
        Means (K, 2), covariance (2K, 2K), in float64, and degrees of freedom.
    """
    check_given(given, names)
    keypoints = np.array(keypoints, dtype=np.float64)
    covariance = np.asarray(covariance)
    size = 2 * len(names)
    if keypoints.shape != (len(names), 2) or covariance.shape != (size, size):
        raise ValueError(
            f'keypoints {keypoints.shape} and covariance {covariance.shape} do not belong to '
            f'{len(names)} joints: expected {(len(names), 2)} and {(size, size)}'
        )
    uncertain = np.flatnonzero(covariance.any(-1))  # the others were given before
    part = torch.from_numpy(covariance[np.ix_(uncertain, uncertain)])
    covariance = np.zeros((size, size))
    covariance[np.ix_(uncertain, uncertain)] = to_float64(part).numpy()
    nu = degrees_of_freedom
    if not given:
        return ConditionedPose(keypoints, covariance, nu)
    joints = [names.index(name) for name in given]
    known = np.array([2 * joint + axis for joint in joints for axis in (0, 1)])
    values = np.array([given[name] for name in given], dtype=np.float64).reshape(-1)
    rest = np.setdiff1d(uncertain, known)
    mean, result = keypoints.reshape(-1).copy(), np.zeros_like(covariance)
    mean[known] = values
    if len(rest):
        telling = np.isin(known, uncertain)
        centre, spread, nu = _conditional(
            torch.from_numpy(keypoints.reshape(-1)),
            torch.from_numpy(covariance),
            nu,
            torch.from_numpy(known[telling]),
            torch.from_numpy(values[telling]),
            torch.from_numpy(rest),
        )
        mean[rest], result[np.ix_(rest, rest)] = centre.numpy(), spread.numpy()
        if robust:
            mean[rest], result = _gated(keypoints.reshape(-1), mean, result, nu, rest)
    return ConditionedPose(mean.reshape(-1, 2), result, nu)


def _gated(
    before: np.ndarray,
    after: np.ndarray,
    covariance: np.ndarray,
    nu: float | None,
    rest: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Places of the rest (q,), each on its way from before to after, and covariance (2K, 2K).

    A joint that moves with probability p has the covariance of both cases together: that of the
    conditional, and p(1 − p) times the square of its way.
    """
    way = torch.from_numpy(after - before).unflatten(-1, (-1, 2))
    mask = torch.from_numpy(np.isin(np.arange(len(before)), rest)).unflatten(-1, (-1, 2))
    way = torch.where(mask, way, 0.0)
    blocks = torch.from_numpy(joint_blocks(covariance).copy())
    tails = None if nu is None else torch.tensor(nu, dtype=torch.float64)
    probability = moving_probability(way, blocks, RIGHT_ODDS, tails, mask)
    moved = before + (probability[:, None] * way).reshape(-1).numpy()
    open_part = probability * (1 - probability)
    undecided = open_part[:, None, None] * way[:, :, None] * way[:, None, :]
    return moved[rest], covariance + torch.block_diag(*undecided).numpy()


def _conditional(
    mean: Tensor,
    covariance: Tensor,
    degrees_of_freedom: float | None,
    index: Tensor,
    values: Tensor,
    query: Tensor,
) -> tuple[Tensor, Tensor, float | None]:
    """Mean (q,), covariance (q, q) and ν of y[query] given y[index] = values."""
    if degrees_of_freedom is None:
        return *condition(mean, covariance, index, values, query), None
    scale = student.scale_from_covariance(covariance, degrees_of_freedom)
    centre, scale, nu = student.condition(mean, scale, degrees_of_freedom, index, values, query)
    return centre, student.covariance_from_scale(scale, nu), nu.item()


def scores_from(
    covariance: np.ndarray,
    box: np.ndarray,
    score_radius: float,
    degrees_of_freedom: np.ndarray | float | None = None,
) -> np.ndarray:
    """The joints' scores: P(within score_radius · longer side of the box of the mean).

    Shapes: covariance (..., 2K, 2K), box (..., 4), degrees_of_freedom (...) → (..., K).
    """
    box = np.asarray(box, dtype=np.float64)
    side = np.maximum(box[..., 2] - box[..., 0], box[..., 3] - box[..., 1])
    blocks = torch.from_numpy(np.array(joint_blocks(covariance), dtype=np.float64))
    nu = None
    if degrees_of_freedom is not None:
        nu = torch.as_tensor(degrees_of_freedom, dtype=torch.float64)[..., None]
    radius = torch.from_numpy(score_radius * side[..., None])
    return disc_probability(blocks, radius, degrees_of_freedom=nu).numpy()


def condition_prediction(
    prediction: Mapping[str, Any],
    given: Given,
    names: Sequence[str],
    score_radius: float = 0.05,
    robust: bool = False,
) -> dict[str, Any]:
    """A person of a prediction file, given some joints.

    Args:
        prediction: One instance with ``keypoints``, ``bbox`` and ``full_covariance``, as the
            inferencer gives it with ``full_covariance='json'``.
        given: Places (x, y) in pixels by joint name.
        names: Names of the joints, in the order of the prediction.
        score_radius: The model's; see HeteroscedasticHead.
        robust: See ``condition_pose``.

    Returns:
        A new instance with the conditional keypoints, covariances and scores.
    """
    if 'full_covariance' not in prediction:
        raise UserError(
            "conditioning needs 'full_covariance': predict with full_covariance='json'"
        )
    keypoints, covariance, nu = condition_pose(
        np.asarray(prediction['keypoints']),
        np.asarray(prediction['full_covariance']),
        given,
        names,
        prediction.get('degrees_of_freedom'),
        robust,
    )
    box = np.asarray(prediction['bbox'], dtype=np.float64).reshape(-1)[:4]
    # Where there are probabilities, the scores are those of a wrapped head.
    scores = (
        'keypoint_probabilities' if 'keypoint_probabilities' in prediction else 'keypoint_scores'
    )
    return {
        **prediction,
        'keypoints': keypoints.tolist(),
        scores: scores_from(covariance, box, score_radius, nu).tolist(),
        'covariance': joint_blocks(covariance).tolist(),
        'full_covariance': covariance.tolist(),
        **({} if nu is None else {'degrees_of_freedom': nu}),
    }
