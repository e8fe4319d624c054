"""Count the corrections that a person needs, with and without conditioning on them.

An annotator corrects the worst joint, by its true error, until every joint lies within a tolerance
of its true place. After each correction the other joints are conditioned on all corrections so
far. Errors are in per cent of the longer side of the person's box.

Axes: N people, K joints, d = 2K.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from hetpose.apis.fit.cache import read_cache
from hetpose.apis.fit.fit import split_by_image
from hetpose.apis.fit.foreign import innermost
from hetpose.apis.fit.forms import predicted
from hetpose.apis.inference.conditioning import condition_pose
from hetpose.apis.loading import load_network
from hetpose.benchmarks.harness import Row
from hetpose.engine import launch
from hetpose.errors import UserError
from hetpose.ops.distribution import Distribution
from hetpose.ops.moments import pair_sums, residual_covariance
from hetpose.ops.student import covariance_from_scale, predictive_nll
from hetpose.ops.student_moments import fit_student

TOLERANCES = (5.0, 10.0)
FITTED, JUDGED = 3000, 800  # people of the generated errors
# Joints of an arm or a leg from its end inwards, in LSPET's order of twelve.
LIMBS = ((0, 1, 2), (5, 4, 3), (6, 7, 8), (11, 10, 9))
JOINTS = 12
PADDING = 1.25  # of the crop around the box, mmpose's default

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


def read_fit(folder: Path) -> tuple[Distribution, Distribution]:
    """The people that `hetpose fit-covariance --out folder` fitted on, and those it judged.

    Errors and the fitted Σ are in per cent of the box; joints without any label are left out.
    """
    if not (folder / 'report.json').is_file():
        raise UserError(f'{folder} is no result of fit-covariance: it has no report.json')
    report = json.loads((folder / 'report.json').read_text(encoding='utf-8'))
    config = launch.load_config(folder / 'config.py')
    model, _ = load_network(config, folder / 'checkpoint.pth', 'cpu')
    errors = read_cache(folder / 'cache')
    parts = split_by_image(errors, report['settings']['training']['seed'])
    steps = innermost(config.val_dataloader.dataset).pipeline
    boxes = [step for step in steps if step['type'] == 'GetBBoxCenterScale']
    padding = boxes[0].get('padding', PADDING) if boxes else PADDING
    labelled = torch.as_tensor(errors.mask.any(0)).repeat_interleave(2)
    known, judged = (
        _in_box(predicted(model.head.errors, parts[name]), padding, labelled)
        for name in ('fit', 'test')
    )
    return known, judged


def _in_box(people: Distribution, padding: float, kept: Tensor) -> Distribution:
    """Per cent of the crop to per cent of the box, of the dimensions (d,) that are kept."""
    scaled = people.rescaled(torch.full((len(people), 2), padding, dtype=torch.float64))
    return Distribution.of_residuals(
        scaled.residual[:, kept],
        scaled.covariance[:, kept][:, :, kept],
        scaled.present[:, kept],
        scaled.degrees_of_freedom,
        block=2,
    )


def constant_covariance(residual: Tensor, mask: Tensor) -> Tensor:
    """One covariance (d, d) of residuals (N, d) for all people."""
    return residual_covariance(*pair_sums(residual, mask), shrink=True)


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
    degrees_of_freedom: float | Tensor | None = None,
    robust: bool = False,
) -> float:
    """Mean corrections of a person, each conditioning the joints that are left.

    Shapes: residual and mask (N, d), covariance (d, d) or (N, d, d), degrees_of_freedom one for
    all or (N,).
    """
    count, zero = len(residual), np.zeros((residual.shape[-1] // 2, 2))
    names = [str(k) for k in range(len(zero))]
    matrices = covariance.expand(count, -1, -1).numpy()
    nu: list[float] | list[None] = [None] * count
    if degrees_of_freedom is not None:
        nu = torch.as_tensor(degrees_of_freedom).expand(count).tolist()
    truths = residual.unflatten(-1, (-1, 2)).numpy()
    shown = mask.unflatten(-1, (-1, 2)).all(-1).numpy()
    total = 0
    for person in range(count):

        def place(given: dict, person: int = person) -> np.ndarray:
            if not given:
                return zero
            matrix = matrices[person]
            return condition_pose(zero, matrix, given, names, nu[person], robust).keypoints

        total += count_clicks(truths[person], shown[person], place, tolerance)
    return total / count


def unconditioned(residual: Tensor, mask: Tensor, tolerance: float) -> float:
    """Mean corrections of a person where a correction changes nothing else."""
    length = residual.unflatten(-1, (-1, 2)).norm(dim=-1)
    far = (length > tolerance) & mask.unflatten(-1, (-1, 2)).all(-1)
    return far.sum(-1).double().mean().item()


def _rows(name: str, fitted: tuple[Tensor, Tensor], judged: tuple[Tensor, Tensor]) -> list[Row]:
    gaussian = constant_covariance(*fitted)
    scale, nu = fit_student(*fitted)
    matrix = covariance_from_scale(scale, nu)
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


def _fit_rows(folder: Path, share: int) -> list[Row]:
    """The people that a fit of a frozen model was judged on: one Σ for all, and the fitted one."""
    known, people = read_fit(folder)
    known, people = known.select(slice(FITTED // share)), people.select(slice(JUDGED // share))
    judged = people.residual, people.present
    rows = _rows('frozen model', (known.residual, known.present), judged)
    modes = {'fitted': False, 'fitted, robust': True}
    for tolerance in tqdm(TOLERANCES, desc='clicks, fitted covariances', leave=False):
        found: dict[str, float] = {'none': unconditioned(*judged, tolerance)}
        for name, robust in modes.items():
            found[name] = clicks(
                *judged, people.covariance, tolerance, people.degrees_of_freedom, robust
            )
        rows.append(
            Row(
                f'frozen model: clicks to {tolerance:g}%, Σ of each person',
                dict(found),
                'fitted, robust below none',
                found['fitted, robust'] < found['none'],
            )
        )
    return rows


def run(quick: bool = False, fit: str | Path | None = None) -> list[Row]:
    """Generated errors; with ``fit`` those of a fit of a frozen model, that command's --out."""
    share = 5 if quick else 1
    rows = _rows(
        'generated', generated_errors(FITTED // share), generated_errors(JUDGED // share, seed=1)
    )
    return rows if fit is None else rows + _fit_rows(Path(fit), share)
