"""Checks and precision rules that every kernel shares."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec('P')
R = TypeVar('R')

# Largest |M - Mᵀ| over largest |M|: far above the rounding of A Σ Aᵀ, far below a mistake.
SYMMETRY_TOLERANCE = {
    torch.bfloat16: 1e-1,
    torch.float16: 1e-2,
    torch.float32: 1e-4,
    torch.float64: 1e-8,
}


class NotFiniteError(ValueError):
    """An argument of a kernel holds NaN or infinite values."""


def full_precision(function: Callable[P, R]) -> Callable[P, R]:
    """Run a kernel outside autocast, in one floating type of at least 32 bits.

    Half precision arguments become float32; float32 together with float64 becomes float64.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        values = [*args, *kwargs.values()]
        tensors = [v for v in values if isinstance(v, Tensor) and v.is_floating_point()]
        if not tensors:
            return function(*args, **kwargs)
        dtype = _common_type(tensors)
        cast: Any = [_cast(v, dtype) for v in args]
        cast_kwargs: Any = {k: _cast(v, dtype) for k, v in kwargs.items()}
        device = tensors[0].device.type
        if not _autocast_is_on(device):
            return function(*cast, **cast_kwargs)
        with torch.autocast(device, enabled=False):
            return function(*cast, **cast_kwargs)

    return wrapper


def _autocast_is_on(device: str) -> bool:
    try:
        return torch.is_autocast_enabled(device)
    except TypeError:  # before torch 2.4 it takes no device: leave autocast to be sure
        return True


def _common_type(tensors: list[Tensor]) -> torch.dtype:
    dtype = torch.float32
    # A zero-dimensional tensor is a setting (a floor, a scale): it does not decide precision.
    for tensor in [t for t in tensors if t.ndim] or tensors:
        dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, Tensor) and value.is_floating_point() and value.dtype != dtype:
        return value.to(dtype)
    return value


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape)


def check_square(matrix: Tensor, name: str) -> int:
    """The size d of matrix (..., d, d)."""
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(f'{name}: expected shape (..., d, d), got {shape_of(matrix)}')
    if not matrix.is_floating_point():
        raise ValueError(f'{name}: expected floating point numbers, got {matrix.dtype}')
    return matrix.shape[-1]


def check_vector(vector: Tensor, dim: int, name: str) -> None:
    """Vector must be (..., dim)."""
    if vector.ndim < 1 or vector.shape[-1] != dim:
        raise ValueError(f'{name}: expected shape (..., {dim}), got {shape_of(vector)}')


def check_mask(mask: Tensor, dim: int, name: str = 'mask') -> None:
    """Mask must be boolean, (..., dim)."""
    if mask.dtype != torch.bool:
        raise ValueError(f'{name}: expected booleans (True = present), got {mask.dtype}')
    check_vector(mask, dim, name)


def check_factor(factor: Tensor, name: str) -> int:
    """The number of rows d of factor (..., d, m)."""
    if factor.ndim < 2:
        raise ValueError(f'{name}: expected shape (..., d, m), got {shape_of(factor)}')
    return factor.shape[-2]


def check_broadcastable(**shapes: tuple[int, ...]) -> torch.Size:
    """The batch shape that all of the named batch shapes broadcast to."""
    first, *others = shapes.values()
    if all(shape == first for shape in others):  # the usual case, without the cost of the general
        return torch.Size(first)
    try:
        return torch.broadcast_shapes(*shapes.values())
    except RuntimeError:
        text = ', '.join(f'{name} {tuple(shape)}' for name, shape in shapes.items())
        raise ValueError(f'batch shapes do not broadcast: {text}') from None


def check_not_negative(value: float | Tensor, name: str) -> None:
    """Every entry of value must be >= 0 (which NaN is not)."""
    valid = bool((value >= 0).all()) if isinstance(value, Tensor) else value >= 0
    if not valid:
        raise ValueError(f'{name}: expected values >= 0, got {value}')


def explain_nan(result: Tensor, **arguments: Tensor | None) -> Tensor:
    """The result (...), unless it is NaN or infinite because one of the named arguments is.

    Looking at the result alone keeps the check cheap where nothing is wrong.
    """
    if not torch.isfinite(result).all():
        for name, argument in arguments.items():
            if argument is not None and not torch.isfinite(argument).all():
                raise NotFiniteError(f'{name}: holds NaN or infinite values')
    return result


def symmetric_items(matrix: Tensor, made_in: torch.dtype | None = None) -> Tensor:
    """Whether the items of matrix (..., d, d) are finite and symmetric, as booleans (...).

    The tolerance is that of ``made_in``, the type that the matrix was computed in, which is its
    own type unless it was cast since.
    """
    if not matrix.numel():
        return torch.ones(matrix.shape[:-2], dtype=torch.bool, device=matrix.device)
    asymmetry = (matrix - matrix.mT).abs().amax((-2, -1))
    # The largest finite number instead of an infinity makes inf <= scale false; NaN is so already.
    scale = matrix.abs().amax((-2, -1)).clamp(max=torch.finfo(matrix.dtype).max)
    return asymmetry <= SYMMETRY_TOLERANCE[made_in or matrix.dtype] * scale


def first_item(flags: Tensor) -> tuple[tuple[int, ...], str]:
    """Index of the first True in flags (...) and its name in a message."""
    index = tuple(int(i) for i in flags.nonzero()[0])
    if not index:
        return index, 'the matrix'
    return index, f'item {index[0] if len(index) == 1 else index}'


def refuse_bad_items(matrix: Tensor, name: str, made_in: torch.dtype | None = None) -> None:
    """Raise for the first item of matrix (..., d, d) that is not finite, or not symmetric."""
    infinite = ~torch.isfinite(matrix).all(-1).all(-1)
    if infinite.any():
        raise NotFiniteError(f'{name}: {first_item(infinite)[1]} holds NaN or infinite values')
    crooked = ~symmetric_items(matrix, made_in)
    if crooked.any():
        index, item = first_item(crooked)
        size = (matrix[index] - matrix[index].mT).abs().max().item()
        raise ValueError(
            f'{name}: {item} is not symmetric (largest |M - Mᵀ| is {size:.3g}); pass (M + Mᵀ) / 2 '
            'if that is rounding'
        )
