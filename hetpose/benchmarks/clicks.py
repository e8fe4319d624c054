"""How many corrections a person needs, with and without conditioning on them.

An annotator corrects the worst joint, by its true error, until every joint lies within a tolerance
of its true place. After each correction the other joints are conditioned on all corrections so
far. Errors are in per cent of the longer side of the person's box.

Axes: N people, K joints, d = 2K.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from mmpose.registry import MODELS
from torch import Tensor
from tqdm import tqdm

from hetpose.apis.inference.conditioning import condition_pose
from hetpose.benchmarks.harness import Row
from hetpose.models import covariance as _covariance  # noqa: F401  registers what is built by name
from hetpose.models import objectives as _objectives  # noqa: F401
from hetpose.ops.moments import pair_sums, residual_covariance
from hetpose.ops.student import predictive_nll
from hetpose.paths import data_root

TOLERANCES = (5.0, 10.0)
FITTED, JUDGED = 3000, 800  # people of the generated errors
# Joints of an arm or a leg from its end inwards, in LSPET's order of twelve.
LIMBS = ((0, 1, 2), (5, 4, 3), (6, 7, 8), (11, 10, 9))
JOINTS = 12
CACHE = 'thunder_lspet.npz'  # in HETPOSE_DATA/movenet: what tools/convert_movenet.py --lspet wrote
HELD_OUT = 10  # every tenth image is judged on, the others are fitted on

Place = Callable[[dict], np.ndarray]  # corrections so far → places of all joints (K, 2)


def generated_errors(count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Errors as pose estimators make them: many small ones, and a few gross ones.

    All joints of a person err by about 2% of the box. A limb in four is gross: its end is off by
    about 25%, and in half of these cases the rest of the limb is off with it. Shapes: (N, d), mask
    (N, d).
    """
    random = np.random.default_rng(seed)
    size = random.lognormal(0, 0.6, (count, 1, 1))
    shared = random.normal(0, 1.0, (count, 1, 2))
    errors = size * (random.normal(0, 1.5, (count, JOINTS, 2)) + shared)
    for limb in LIMBS:
        gross, whole = random.random(count) < 0.25, random.random(count) < 0.5
        shift = random.normal(0, 25, (count, 2))
        for joint, gain in zip(limb, (1.0, 0.9, 0.5), strict=True):
            hit = gross & (whole | (joint == limb[0]))
            share = gain * (1 + random.normal(0, 0.08, count))
            errors[:, joint] += (hit * share)[:, None] * shift
    flat = torch.from_numpy(errors.reshape(count, -1))
    return flat, torch.ones_like(flat, dtype=torch.bool)


def cached_errors() -> tuple[Tensor, Tensor, Tensor] | None:
    """Errors of MoveNet on LSPET and masks (N, d), and who is held out (N,); None if absent."""
    path = data_root('movenet') / CACHE
    if not path.exists():
        return None
    with np.load(path) as cache:
        shown, numbers = cache['present'][:, :JOINTS], cache['id']
        side = cache['extent'] * cache['warp'][:, 0, 0]  # of the box, in pixels of the crop
        away = cache['joints'][:, :JOINTS] - cache['keypoints']
    errors = 100 * np.where(shown[..., None], away, 0) / side[:, None, None]
    mask = torch.from_numpy(shown).repeat_interleave(2, dim=-1)
    flat = torch.from_numpy(errors.reshape(len(errors), -1)).double()
    return flat, mask, torch.from_numpy(numbers % HELD_OUT == 0)


def constant_covariance(residual: Tensor, mask: Tensor) -> Tensor:
    """One covariance (d, d) of residuals (N, d) for all people."""
    return residual_covariance(*pair_sums(residual, mask), shrink=True)


def fit_student(residual: Tensor, mask: Tensor, steps: int = 60) -> tuple[Tensor, float]:
    """One covariance (d, d) and ν for all people, by the likelihood of a Student-t."""
    dim = residual.shape[-1]
    scale = dict(type='AnchoredCovariance', floor=1e-2)
    covariance = MODELS.build(dict(type='StudentCovariance', scale=scale))
    covariance.residual_anchor.set_anchor(constant_covariance(residual, mask))
    objective = MODELS.build(dict(type='StudentNLLObjective'))
    outputs = torch.zeros(covariance.num_outputs(dim), dtype=residual.dtype, requires_grad=True)
    optimiser = torch.optim.LBFGS([outputs], max_iter=steps, line_search_fn='strong_wolfe')

    def loss() -> Tensor:
        optimiser.zero_grad()
        predicted = covariance(outputs.expand(len(residual), -1), dim)
        value = objective(torch.zeros_like(residual), residual, predicted, None, mask).mean()
        value.backward()
        return value

    optimiser.step(loss)
    with torch.no_grad():
        predicted = covariance(outputs[None], dim)
    return predicted.matrix[0], predicted.degrees_of_freedom.item()


def count_clicks(truth: np.ndarray, shown: np.ndarray, place: Place, tolerance: float) -> int:
    """Corrections until every shown joint is close. Shapes: truth (K, 2), shown (K,)."""
    given: dict[str, np.ndarray] = {}
    while True:
        error = np.linalg.norm(truth - place(given), axis=-1)
        open_joints = shown & [str(k) not in given for k in range(len(truth))]
        error = np.where(open_joints, error, 0.0)
        worst = int(error.argmax())
        if error[worst] <= tolerance:
            return len(given)
        given[str(worst)] = truth[worst]


def clicks(
    residual: Tensor,
    mask: Tensor,
    covariance: Tensor,
    tolerance: float,
    degrees_of_freedom: float | None = None,
    robust: bool = False,
) -> float:
    """Mean corrections of a person, each conditioning the joints that are left.

    Shapes: residual and mask (N, d), covariance (d, d).
    """
    zero = np.zeros((residual.shape[-1] // 2, 2))
    names = [str(k) for k in range(len(zero))]
    matrix = covariance.numpy()

    def place(given: dict) -> np.ndarray:
        found = condition_pose(zero, matrix, given, names, degrees_of_freedom, robust)
        return found.keypoints if given else zero

    return _mean_clicks(residual, mask, place, tolerance)


def _mean_clicks(residual: Tensor, mask: Tensor, place: Place, tolerance: float) -> float:
    people = zip(
        residual.unflatten(-1, (-1, 2)).numpy(), mask.unflatten(-1, (-1, 2)).all(-1), strict=True
    )
    total = [count_clicks(truth, shown.numpy(), place, tolerance) for truth, shown in people]
    return float(np.mean(total))


def unconditioned(residual: Tensor, mask: Tensor, tolerance: float) -> float:
    """Mean corrections of a person where a correction changes nothing else."""
    length = residual.unflatten(-1, (-1, 2)).norm(dim=-1)
    far = (length > tolerance) & mask.unflatten(-1, (-1, 2)).all(-1)
    return far.sum(-1).double().mean().item()


def _rows(name: str, fitted: tuple[Tensor, Tensor], judged: tuple[Tensor, Tensor]) -> list[Row]:
    gaussian = constant_covariance(*fitted)
    matrix, nu = fit_student(*fitted)
    residual, mask = judged
    tails = torch.full((len(residual),), nu, dtype=residual.dtype)
    likelihood: dict[str, float | str] = {
        'people': float(len(residual)),
        'Gaussian nats': predictive_nll(residual, gaussian, None, mask).mean().item(),
        'Student-t nats': predictive_nll(residual, matrix, tails, mask).mean().item(),
        'degrees of freedom': nu,
    }
    rows = [Row(f'{name}: held-out likelihood', likelihood)]
    modes = {
        'gaussian': partial(clicks, covariance=gaussian),
        'gaussian, robust': partial(clicks, covariance=gaussian, robust=True),
        'student': partial(clicks, covariance=matrix, degrees_of_freedom=nu),
        'student, robust': partial(clicks, covariance=matrix, degrees_of_freedom=nu, robust=True),
    }
    for tolerance in tqdm(TOLERANCES, desc=f'clicks, {name}', leave=False):
        found = {'none': unconditioned(residual, mask, tolerance)}
        found |= {mode: run(residual, mask, tolerance=tolerance) for mode, run in modes.items()}
        best = found['student, robust']
        passed = best < min(found['none'], found['gaussian'])
        metrics: dict[str, float | str] = {mode: value for mode, value in found.items()}
        wanted = 'student, robust below none and gaussian'
        rows.append(Row(f'{name}: clicks to {tolerance:g}%', metrics, wanted, passed))
    return rows


def run(quick: bool = False) -> list[Row]:
    """Generated errors, and those of MoveNet on LSPET where HETPOSE_DATA/movenet has them."""
    share = 5 if quick else 1
    rows = _rows(
        'generated', generated_errors(FITTED // share), generated_errors(JUDGED // share, seed=1)
    )
    cache = cached_errors()
    if cache is not None:
        residual, mask, held_out = cache
        fitted, judged = (
            (residual[~held_out], mask[~held_out]),
            (residual[held_out], mask[held_out]),
        )
        count = len(judged[0]) // share
        rows += _rows('MoveNet on LSPET', fitted, (judged[0][:count], judged[1][:count]))
    return rows
