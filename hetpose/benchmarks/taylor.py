"""Taylor terms in closed form against vmap(hessian) and traces of pairs of Hessians."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import hessian, jacrev, vmap

from hetpose.benchmarks.harness import Comparison, Row, interleave, peak_memory
from hetpose.ops.taylor.feedforward import ResidualMLP
from hetpose.ops.taylor.terms import taylor_terms

BATCH = 32
# Required speed-up, and repeats of the slower side, by dimension.
REQUIRED = {8: 8.0, 16: 15.0, 24: 18.0, 32: 30.0}
REPEATS = {8: 15, 16: 7, 24: 3, 32: 1}
REQUIRED_MEMORY = 10.0
ERRORS = {torch.float32: 1e-5, torch.float64: 1e-12}
# In double precision the reference takes minutes at larger dimensions.
LARGEST_DOUBLE = 16

Grams = tuple[Tensor, Tensor]


def problem(dim: int, dtype: torch.dtype = torch.float32) -> tuple[nn.Module, Tensor]:
    """The suites' network with settled batch norms, and a batch (32, d)."""
    torch.manual_seed(dim)
    network = ResidualMLP(dim, dim, dim * dim + 2)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm1d):
            assert module.running_mean is not None
            assert module.running_var is not None
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
    return network.to(dtype).eval(), torch.randn(BATCH, dim).to(dtype)


def ours(network: nn.Module, x: Tensor) -> Grams:
    """JJᵀ and T, (B, d, d)."""
    terms = taylor_terms(network, x, 'full')
    return terms.gradient_gram, terms.curvature_gram


@torch.no_grad()
def definition(network: nn.Module, x: Tensor) -> Grams:
    """JJᵀ and T_ij = Tr(H_i H_j), (B, d, d), from the definition."""

    def single(point: Tensor) -> Tensor:
        return network(point.unsqueeze(0)).squeeze(0)

    jacobian, curvature = vmap(jacrev(single))(x), vmap(hessian(single))(x)
    flat = curvature.flatten(2)
    return jacobian @ jacobian.mT, flat @ flat.mT


def prepare_ours(dim: int) -> Callable[[], Grams]:
    network, x = problem(dim)
    ours(*problem(8))  # what the libraries allocate at their first calls is not the method's
    return lambda: ours(network, x)


def prepare_definition(dim: int) -> Callable[[], Grams]:
    network, x = problem(dim)
    definition(*problem(8))
    return lambda: definition(network, x)


def relative_error(found: Grams, exact: Grams) -> float:
    """Largest relative error of the two matrices, in the Frobenius norm."""
    pairs = zip(found, exact, strict=True)
    return max(float((a - b).norm() / b.norm()) for a, b in pairs)


def exact_terms(network: nn.Module, x: Tensor) -> Grams:
    """Both matrices in double precision: the definition where it takes seconds, else ours.

    Ours agrees with the definition to 1e-15 where both are run. In single precision the definition
    is no measure: where an activation lies within rounding of ELU's kink, φ'' may be 0 or 1.
    """
    double = network.double(), x.double()
    return (definition if x.shape[1] <= LARGEST_DOUBLE else ours)(*double)


def _timed(dim: int) -> tuple[Comparison, float, float]:
    """Interleaved medians, and the errors of ours and of the definition in single precision."""
    network, x = problem(dim)
    found: dict[str, Grams] = {}
    sides: dict[str, Callable[[], object]] = {
        'ours': lambda: found.update(ours=ours(network, x)),
        'reference': lambda: found.update(reference=definition(network, x)),
    }
    # From 24 dimensions the reference takes seconds: it needs no warm-up.
    times = interleave(sides, REPEATS[dim], warm_up=int(dim < 24))
    exact = exact_terms(network, x)
    timed = Comparison(times['ours'], times['reference'])
    return timed, relative_error(found['ours'], exact), relative_error(found['reference'], exact)


def _row(dim: int, quick: bool) -> Row:
    timed, error, reference_error = _timed(dim)
    metrics: dict[str, float | str] = {
        'ours ms': 1e3 * timed.ours,
        'reference ms': 1e3 * timed.reference,
        'time ratio': timed.ratio,
    }
    passed = timed.ratio >= REQUIRED[dim] and error <= ERRORS[torch.float32]
    required = f'time >= {REQUIRED[dim]:g}x'
    if not quick and dim >= 16:
        module = 'hetpose.benchmarks.taylor'
        mine = peak_memory(f'{module}:prepare_ours', dim)
        theirs = peak_memory(f'{module}:prepare_definition', dim)
        metrics |= {'ours MB': mine / 1e6, 'reference MB': theirs / 1e6}
        metrics['memory ratio'] = theirs / max(mine, 1)
        passed = passed and theirs >= REQUIRED_MEMORY * mine
        required += f', memory >= {REQUIRED_MEMORY:g}x'
    metrics |= {'error': error, 'reference error': reference_error}
    if dim <= LARGEST_DOUBLE:
        double = problem(dim, torch.float64)
        double_error = relative_error(ours(*double), definition(*double))
        metrics['float64 error'] = double_error
        passed = passed and double_error <= ERRORS[torch.float64]
    return Row(f'taylor d={dim}', metrics, f'{required}, error <= 1e-5 (1e-12)', passed)


def run(quick: bool = False) -> list[Row]:
    """One row for each dimension; quick leaves out the large ones and the memory."""
    return [_row(dim, quick) for dim in REQUIRED if dim <= 16 or not quick]
