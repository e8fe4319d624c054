"""Squared 2-Wasserstein distance: Procrustes against derivatives through eigenvectors."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from hetpose.benchmarks.harness import Row, compare, peak_memory
from hetpose.ops.spd import symmetric_sqrt
from hetpose.ops.taylor.feedforward import ResidualMLP
from hetpose.ops.wasserstein import w2_squared, w2_squared_bound

BATCH = 32
DIM = 28
STEP_LIMIT = 1.5


def eigen_root(matrix: Tensor) -> Tensor:
    """Symmetric root through eigh, differentiated by autograd."""
    values, vectors = torch.linalg.eigh(matrix)
    return (vectors * values.clamp(min=0).sqrt()[..., None, :]) @ vectors.mT


def by_eigenvalues(covariance: Tensor, target_root: Tensor) -> Tensor:
    """Tr[Σ + Σ̃ - 2(Σ̃^½ΣΣ̃^½)^½], the definition. Shapes: (..., d, d) twice -> (...)."""
    cross = eigen_root(target_root @ covariance @ target_root)
    total = covariance + target_root @ target_root - 2 * cross
    return total.diagonal(dim1=-2, dim2=-1).sum(-1)


def factors(dim: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Two factors (BATCH, dim, dim) of covariances that are far from singular."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(2, BATCH, dim, dim, generator=generator, dtype=torch.float64)
    factor, target = (noise / dim**0.5 + torch.eye(dim)).to(dtype)
    return factor, target


def gradient(distance: Callable[[Tensor], Tensor], factor: Tensor) -> tuple[Tensor, Tensor]:
    """Value and gradient of a distance with respect to the predicted factor."""
    factor = factor.detach().requires_grad_()
    value = distance(factor)
    (slope,) = torch.autograd.grad(value.sum(), factor)
    return value.detach(), slope


def prepare_ours(dim: int) -> Callable[[], tuple[Tensor, Tensor]]:
    factor, target = factors(dim)
    return lambda: gradient(lambda f: w2_squared(f, target), factor)


def prepare_reference(dim: int, root_given: bool) -> Callable[[], tuple[Tensor, Tensor]]:
    factor, target = factors(dim)
    target_covariance = target @ target.mT
    if root_given:
        root = eigen_root(target_covariance)
        return lambda: gradient(lambda f: by_eigenvalues(f @ f.mT, root), factor)
    return lambda: gradient(
        lambda f: by_eigenvalues(f @ f.mT, eigen_root(target_covariance)), factor
    )


def relative_error(value: Tensor, exact: Tensor) -> float:
    return ((value.double() - exact).abs().max() / exact.abs().max()).item()


def _speed_row(dim: int, root_given: bool, quick: bool) -> Row:
    ours, reference = prepare_ours(dim), prepare_reference(dim, root_given)
    times = compare(ours, reference, repeats=5 if quick else 31, warm_up=3)
    factor, target = factors(dim, torch.float64)
    left, _, right = torch.linalg.svd(target.mT @ factor)
    difference = factor - target @ left @ right
    value, slope = ours()
    metrics: dict[str, float | str] = {
        'ours ms': 1e3 * times.ours,
        'reference ms': 1e3 * times.reference,
        'times faster': times.ratio,
        'error': relative_error(value, difference.square().sum((-2, -1))),
        'gradient error': relative_error(slope, 2 * difference),
    }
    if not quick:
        module = 'hetpose.benchmarks.w2'
        ours_peak = peak_memory(f'{module}:prepare_ours', dim)
        reference_peak = peak_memory(f'{module}:prepare_reference', dim, root_given)
        metrics['times less memory'] = max(reference_peak, 1) / max(ours_peak, 1)
    known = 'root of target given' if root_given else 'from covariances'
    return Row(f'd = {dim}, {known}', metrics, '> 1 times faster', times.ratio > 1)


def hard_places(dim: int) -> dict[str, tuple[Tensor, Tensor]]:
    """Factor and target where eigenvalues coincide or vanish."""
    factor, target = factors(dim)
    identity = torch.eye(dim).expand(BATCH, dim, dim)
    singular = factor.clone()
    singular[..., dim // 2 :] = 0
    constant, constant_target = factor.clone(), target.clone()
    constant[..., :2, :] = constant_target[..., :2, :] = 0
    return {
        'equal': (target, target),
        'both the identity': (identity, identity),
        'repeated eigenvalues': (2 * identity, identity),
        'rank deficient': (singular, target),
        'two dimensions are constant': (constant, constant_target),
    }


def _hard_row(name: str, factor: Tensor, target: Tensor) -> Row:
    _, ours = gradient(lambda f: w2_squared(f, target), factor)
    root = symmetric_sqrt(target @ target.mT)
    _, other = gradient(lambda f: by_eigenvalues(f @ f.mT, root), factor)
    finite = torch.isfinite(ours).all().item()
    return Row(
        f'gradient where {name}',
        {'ours': _describe(ours), 'autograd through eigh': _describe(other)},
        'finite',
        bool(finite),
    )


def _describe(slope: Tensor) -> str:
    broken = (~torch.isfinite(slope)).double().mean().item()
    if broken:
        return f'{100 * broken:.0f}% NaN or infinite'
    return f'finite, largest {slope.abs().max().item():.2g}'


def prepare_step(name: str, dim: int) -> Callable[[], torch.Tensor]:
    """One training step of a mean and a factor network of the suites' width; returns its loss."""
    torch.manual_seed(0)
    width = dim * dim + 2
    mean, spread = ResidualMLP(dim, dim, width), ResidualMLP(dim, dim * dim, width)
    networks = nn.ModuleList([mean, spread])
    optimiser = torch.optim.AdamW(networks.parameters(), lr=3e-4)
    x, y = torch.randn(BATCH, dim), torch.randn(BATCH, dim)
    _, target = factors(dim)
    root = symmetric_sqrt(target @ target.mT)
    distance = {'w2': w2_squared, 'w2_bound': w2_squared_bound}[name]

    def step() -> torch.Tensor:
        optimiser.zero_grad()
        factor = spread(x).reshape(BATCH, dim, dim)
        loss = distance(factor, root, y - mean(x)).mean()
        loss.backward()
        optimiser.step()
        return loss.detach()

    return step


def _step_row(dim: int, quick: bool) -> Row:
    times = compare(
        prepare_step('w2', dim), prepare_step('w2_bound', dim), 3 if quick else 11, warm_up=2
    )
    cost = times.ours / times.reference
    return Row(
        f'training step with w2 over w2_bound, d = {dim}',
        {
            'ours ms': 1e3 * times.ours,
            'reference ms': 1e3 * times.reference,
            'times the cost': cost,
        },
        f'<= {STEP_LIMIT:g} times the cost',
        cost <= STEP_LIMIT,
    )


def run(quick: bool = False) -> list[Row]:
    """Speed, finiteness where eigenvectors are not unique, and the cost within a training step."""
    rows = [_speed_row(DIM, root_given, quick) for root_given in (False, True)]
    rows += [_hard_row(name, *pair) for name, pair in hard_places(DIM).items()]
    return [*rows, _step_row(DIM, quick)]
