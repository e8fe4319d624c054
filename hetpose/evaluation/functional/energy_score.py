"""The energy score: a proper score of a whole predictive distribution, in the target's units.

ES = E‖X − y‖ − ½ E‖X − X'‖, X and X' drawn from the prediction. Lower is better; in one dimension
it is the CRPS.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hetpose.evaluation.functional.calibration import present
from hetpose.ops.gaussian import sample

# The integrand is analytic in a strip of half-width π, so that the trapezoid's error is about
# exp(−2π²/step).
STEP = 0.5
NODES = torch.arange(-36.0, 36.0 + STEP, STEP, dtype=torch.float64)


def expected_norm(variances: Tensor, offset: Tensor) -> Tensor:
    """E‖X‖ for independent X_i ~ N(offset_i, variances_i), to about ten digits and without
    sampling.

    From E√Q = (1 / 2√π) ∫ (1 − E exp(−tQ)) t^(−3/2) dt and the closed form of E exp(−tQ) for Q =
    ‖X‖², by the trapezoid rule in log t. Shapes: (..., d), (..., d) → (...).
    """
    scale = (variances + offset.square()).sum(-1)  # E Q: puts the bulk of the integrand at t = 1
    unit = scale.clamp(min=torch.finfo(scale.dtype).tiny)[..., None]
    variances, squares = variances / unit, offset.square() / unit
    total = torch.zeros_like(scale)
    for node in NODES.tolist():
        t = math.exp(node)
        spread = 2 * t * variances
        exponent = -(spread.log1p() / 2 + t * squares / (1 + spread)).sum(-1)
        total = total - torch.expm1(exponent) * math.exp(-node / 2)
    # Beyond the nodes the integrand is t^½ below (E Q = 1) and t^(−½) above: two geometric series.
    ratio = math.exp(-STEP / 2)
    ends = math.exp(NODES[0].item() / 2) + math.exp(-NODES[-1].item() / 2)
    total = total + ends * ratio / (1 - ratio)
    return total * STEP / (2 * math.sqrt(math.pi)) * scale.sqrt()


def energy_score(residual: Tensor, covariance: Tensor, mask: Tensor | None = None) -> Tensor:
    """Energy score by quadrature, over the present dimensions; 0 where there are none.

    ‖X − X'‖ is √2 times the norm of a centred draw. Shapes: (..., d), (..., d, d), mask (..., d) →
    (...).
    """
    here = present(residual, mask)
    # A missing dimension of zero variance and zero residual adds nothing to any distance.
    covariance = covariance.where(here[..., None, :] & here[..., None], 0.0)
    variances, axes = torch.linalg.eigh(covariance.detach())
    offset = (axes.mT @ residual.where(here, 0.0)[..., None]).squeeze(-1)
    variances = variances.clamp(min=0)
    spread = expected_norm(variances, torch.zeros_like(offset))
    return expected_norm(variances, offset) - spread / math.sqrt(2)


def energy_score_monte_carlo(
    residual: Tensor,
    covariance: Tensor,
    mask: Tensor | None = None,
    samples: int = 64,
    seed: int = 0,
) -> Tensor:
    """The unbiased estimate from ``samples`` draws: pairs of distinct draws only. Same shapes as
    ``energy_score``.
    """
    if samples < 2:
        raise ValueError(f'samples must be at least 2, not {samples}')
    here = present(residual, mask)
    generator = torch.Generator(residual.device).manual_seed(seed)
    draws = sample(torch.zeros_like(residual), covariance, samples, generator) * here
    to_truth = (draws - residual.where(here, 0.0)).norm(dim=-1).mean(0)
    apart = torch.zeros_like(to_truth)
    for i in range(samples - 1):  # one draw at a time: samples² × N × d would not fit
        apart += (draws[i + 1 :] - draws[i]).norm(dim=-1).sum(0)
    return to_truth - apart / (samples * (samples - 1))
