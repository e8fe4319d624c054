"""Jacobian and Hessian of any differentiable function by torch.func, under a memory bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.func import jacfwd, jacrev, jvp, vmap

# Tangents and temporaries, in addition to the saved tensors.
SAVED_BYTES_FACTOR = 4

Function = Callable[..., Tensor]


def _per_sample(function: Function) -> Function:
    """A function of batches (B, m), ... → (B, d) as a function of one sample (m,), ... → (d,)."""

    def single(*sample: Tensor) -> Tensor:
        return function(*(part.unsqueeze(0) for part in sample)).squeeze(0)

    return single


def saved_bytes(function: Function, arguments: Sequence[Tensor]) -> int:
    """Bytes that reverse mode keeps for one sample: the unit in which chunks are counted."""
    seen: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        seen[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    sample = [part[:1].detach().clone() for part in arguments]
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
        function(sample[0].requires_grad_(), *sample[1:])
    return max(sum(seen.values()), 1)


def _check_samples_independent(function: Function, arguments: Sequence[Tensor]) -> Tensor:
    """The function's value (B, d); an error if a sample's value depends on the others."""
    value = function(*arguments)
    x = arguments[0]
    if value.ndim != 2 or value.shape[0] != x.shape[0]:
        raise ValueError(
            f'network: expected a map (B, m) -> (B, d), got {tuple(value.shape)} for '
            f'{tuple(x.shape)}'
        )
    ends = [0, len(x) - 1]
    try:
        alone = torch.cat([function(*(part[i : i + 1] for part in arguments)) for i in ends])
    except (ValueError, RuntimeError) as error:  # as a batch norm in training mode does
        raise ValueError(f'network: fails for a single sample: {error}') from error
    tolerance = 1e3 * torch.finfo(value.dtype).eps
    scale = float(value.abs().nan_to_num().max())
    if not torch.allclose(value[ends], alone, tolerance, tolerance * scale, equal_nan=True):
        raise ValueError(
            'network: a sample has another value in a batch than alone (batch norm in training '
            'mode? dropout?), so no Jacobian per sample exists'
        )
    return value


def differentiate(
    function: Function, arguments: Sequence[Tensor], full: bool, memory_limit: int
) -> tuple[Tensor, Tensor | None]:
    """Jacobian (B, d, m) and packed Hessian (B, d, p) of ``function`` in its first argument.

    The other arguments have the same leading axis and are held constant.
    """
    value = _check_samples_independent(function, arguments)
    m, d = arguments[0].shape[1], value.shape[1]
    unit = SAVED_BYTES_FACTOR * saved_bytes(function, arguments)
    single = _per_sample(function)
    try:
        jacobian = _jacobian(single, arguments, min(m, d), d < m, memory_limit // unit)
        hessian = None
        if full:
            try:
                hessian = _hessian(single, arguments, d, memory_limit // unit)
            except NotImplementedError:
                hessian = _hessian_reverse(single, arguments, d, memory_limit // unit)
    except RuntimeError as error:
        # Random numbers, in-place updates of buffers and operators without a derivative end here.
        raise ValueError(f'network: cannot be differentiated per sample: {error}') from error
    return jacobian, hessian


def _jacobian(
    single: Function, arguments: Sequence[Tensor], directions: int, reverse: bool, units: int
) -> Tensor:
    """Rows or columns, whichever are fewer, of all samples of a chunk at once."""
    size = max(units // directions, 1)
    transform = jacrev(single) if reverse else jacfwd(single)
    return vmap(transform, chunk_size=min(size, len(arguments[0])))(*arguments)


def _hessian(single: Function, arguments: Sequence[Tensor], d: int, units: int) -> Tensor:
    """Forward over reverse mode; chunks of directions where one sample alone is too large."""
    x, *constants = arguments
    m = x.shape[1]
    i, j = torch.triu_indices(m, m, device=x.device)
    basis = torch.eye(m, dtype=x.dtype, device=x.device)
    columns = min(max(units // d, 1), m)
    samples = max(units // (d * columns), 1)

    def along(direction: Tensor, point: Tensor, *rest: Tensor) -> Tensor:
        gradient = jacrev(lambda moving: single(moving, *rest))
        return jvp(gradient, (point,), (direction,))[1]

    fixed = (None,) * len(arguments)
    sweep = vmap(vmap(along, in_dims=(0, *fixed)), in_dims=(None, *(0 for _ in arguments)))
    parts = []
    for chunk in zip(x.split(samples), *(c.split(samples) for c in constants), strict=True):
        swept = torch.cat([sweep(part, *chunk) for part in basis.split(columns)], dim=1)
        parts.append(swept[:, j, :, i].movedim(0, -1))  # (p, B, d) → (B, d, p)
    return torch.cat(parts)


def _hessian_reverse(single: Function, arguments: Sequence[Tensor], d: int, units: int) -> Tensor:
    """Reverse over reverse mode, for operators whose gradient has no forward mode (SiLU's)."""
    m = arguments[0].shape[1]
    i, j = torch.triu_indices(m, m, device=arguments[0].device)
    rows = min(max(units // d, 1), d * m)
    samples = min(max(units // (d * m), 1), len(arguments[0]))
    twice = jacrev(jacrev(single), chunk_size=rows)
    return vmap(lambda *sample: twice(*sample)[:, i, j], chunk_size=samples)(*arguments)
