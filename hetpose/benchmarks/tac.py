"""TAC: one Cholesky solve for all dimensions against one inversion for each."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from hetpose.benchmarks.harness import Row, compare, peak_memory
from hetpose.ops.gaussian import tac

BATCH = 32
REQUIRED = {(28, 1): 20.0}


def problem(dim: int) -> tuple[Tensor, Tensor]:
    """Residuals (BATCH, dim) and covariances (BATCH, dim, dim)."""
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(BATCH, dim, dim, generator=generator)
    covariance = factor @ factor.mT / dim + 0.1 * torch.eye(dim)
    return torch.randn(BATCH, dim, generator=generator), covariance


def by_inversion(residual: Tensor, covariance: Tensor, block: int = 1) -> Tensor:
    """The definition: condition every block on all others, by the inverse of their covariance."""
    dim = covariance.shape[-1]
    lengths = []
    for start in range(0, dim, block):
        inside = torch.arange(start, start + block)
        others = torch.tensor([j for j in range(dim) if not start <= j < start + block])
        inverse = torch.linalg.inv(covariance[:, others][:, :, others])
        gain = covariance[:, inside][:, :, others] @ inverse
        error = residual[:, inside] - (gain @ residual[:, others, None])[..., 0]
        lengths.append(torch.linalg.vector_norm(error, dim=-1))
    return torch.stack(lengths, dim=-1).mean(-1)


def prepare_ours(dim: int, block: int) -> Callable[[], Tensor]:
    residual, covariance = problem(dim)
    return lambda: tac(residual, covariance, block)


def prepare_reference(dim: int, block: int) -> Callable[[], Tensor]:
    residual, covariance = problem(dim)
    return lambda: by_inversion(residual, covariance, block)


def _row(dim: int, block: int, quick: bool) -> Row:
    ours, reference = prepare_ours(dim, block), prepare_reference(dim, block)
    times = compare(ours, reference, repeats=5 if quick else 31, warm_up=3)
    residual, covariance = problem(dim)
    exact = by_inversion(residual.double(), covariance.double(), block)
    metrics: dict[str, float | str] = {
        'ours ms': 1e3 * times.ours,
        'reference ms': 1e3 * times.reference,
        'times faster': times.ratio,
        'error': ((ours().double() - exact).abs() / exact).max().item(),
        'reference error': ((reference().double() - exact).abs() / exact).max().item(),
    }
    if not quick:
        peaks = [
            max(peak_memory(f'hetpose.benchmarks.tac:prepare_{side}', dim, block), 1)
            for side in ('ours', 'reference')
        ]
        metrics['times less memory'] = peaks[1] / peaks[0]
    required = REQUIRED.get((dim, block))
    return Row(
        f'd = {dim}, blocks of {block}',
        metrics,
        f'>= {required:g} times faster' if required else '',
        times.ratio >= required if required else None,
    )


def run(quick: bool = False) -> list[Row]:
    """Scalars at several dimensions, joints at the 28 of a 14-joint pose."""
    cases = [(28, 1)] if quick else [(8, 1), (16, 1), (28, 1), (28, 2)]
    return [_row(dim, block, quick) for dim, block in cases]
