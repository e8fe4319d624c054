"""The derivatives of a mean network that a Taylor-induced covariance is made of.

Σ = ε1·JJᵀ + ε2·T + …, with J the Jacobian of the mean, T_ij = Tr(H_i H_j) and H_i the Hessian of
output i. T is a Gram matrix, T = F Fᵀ with F the flattened Hessians, so both are kept as factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from hetpose.ops.soft_argmax import soft_argmax
from hetpose.ops.taylor import convolutional
from hetpose.ops.taylor import feedforward_terms as taylor_feedforward
from hetpose.ops.taylor import func as taylor_func
from hetpose.ops.taylor import soft_argmax as taylor_soft_argmax
from hetpose.ops.validation import shape_of

if TYPE_CHECKING:
    from hetpose.ops.network_stack import NetworkStack

ORDERS = ('gradient', 'full')


@dataclass(frozen=True)
class TaylorTerms:
    """Constants of the gradient: jacobian (B, d, m) and, at full order, hessian (B, d, p).

    p = m(m+1)/2: the upper triangles of the Hessians, off-diagonals times √2, so that
    hessian @ hessianᵀ is T.
    """

    jacobian: Tensor
    hessian: Tensor | None = None

    def to(self, like: Tensor) -> TaylorTerms:
        """The same terms in the type and on the device of ``like``."""
        hessian = None if self.hessian is None else self.hessian.to(like)
        return TaylorTerms(self.jacobian.to(like), hessian)

    def part(self, index: slice) -> TaylorTerms:
        """The terms of some entries of the first axis."""
        hessian = None if self.hessian is None else self.hessian[index]
        return TaylorTerms(self.jacobian[index], hessian)

    @property
    def gradient_gram(self) -> Tensor:
        """JJᵀ, (B, d, d)."""
        return self.jacobian @ self.jacobian.mT

    @property
    def curvature_gram(self) -> Tensor:
        """T with T_ij = Tr(H_i H_j), (B, d, d)."""
        if self.hessian is None:
            raise ValueError(
                "order: the curvature term needs order='full', these are of 'gradient'"
            )
        return self.hessian @ self.hessian.mT


@contextmanager
def evaluating(*modules: object) -> Iterator[None]:
    """Eval mode for a while; every submodule goes back to the mode it had."""
    parts = [part for m in modules if isinstance(m, nn.Module) for part in m.modules()]
    modes = [part.training for part in parts]
    try:
        for part in parts:
            part.training = False
        yield
    finally:
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode


@cache
def _pair_scale(m: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """1 for the diagonal and √2 for the off-diagonal entries of a packed triangle, (p,)."""
    with torch.inference_mode(False):
        i, j = torch.triu_indices(m, m, device=device)
        return torch.full(i.shape, math.sqrt(2), dtype=dtype, device=device).masked_fill(i == j, 1)


def check_order(order: str, memory_limit: int) -> bool:
    """Whether Hessians are wanted."""
    if order not in ORDERS:
        raise ValueError(f'order: expected one of {ORDERS}, got {order!r}')
    if memory_limit < 1:
        raise ValueError(f'memory_limit: expected at least 1 byte, got {memory_limit}')
    return order == 'full'


def check_point(x: Tensor, name: str, network: object) -> None:
    """A finite (B, m) of the network's own floating point type."""
    if x.ndim != 2 or x.shape[1] == 0:
        raise ValueError(f'{name}: expected shape (B, m) with m > 0, got {shape_of(x)}')
    if x.dtype not in (torch.float32, torch.float64):
        raise ValueError(f'{name}: expected float32 or float64, got {x.dtype}')
    if not torch.isfinite(x).all():
        raise ValueError(f'{name}: holds NaN or infinite values')
    parameter = next(network.parameters(), None) if isinstance(network, nn.Module) else None
    if parameter is not None and parameter.dtype != x.dtype:
        raise ValueError(
            f'{name}: expected the type of the network, {parameter.dtype}, got {x.dtype}'
        )


def _check_width(layers: list[taylor_feedforward.Layer], x: Tensor) -> None:
    first = next((w for w in taylor_feedforward.affine_layers(layers)), None)
    if first is not None and first.weight.shape[1] != x.shape[1]:
        raise ValueError(f'x: expected shape (B, {first.weight.shape[1]}), got {shape_of(x)}')


@torch.no_grad()
def taylor_terms(
    network: Callable[[Tensor], Tensor],
    x: Tensor,
    order: str = 'gradient',
    memory_limit: int = 2**30,
) -> TaylorTerms:
    """Jacobian and, with order='full', Hessians of ``network`` at x, exactly, as constants.

    A stack of linear layers, known activations, batch norms and residual connections goes the
    closed way; any other network or function (B, m) → (B, d) goes through torch.func, in chunks of
    about ``memory_limit`` bytes. Modules are taken in eval mode and left in the mode they had.
    ValueError where samples of a batch depend on each other: then no exact terms exist.

    Shapes: x (B, m); jacobian (B, d, m), hessian (B, d, m(m+1)/2).
    """
    full = check_order(order, memory_limit)
    check_point(x, 'x', network)
    x = x.detach()
    with torch.autocast(x.device.type, enabled=False), evaluating(network):
        if not len(x):
            return _no_terms(network(x), x, full)
        layers = taylor_feedforward.parse(network) if isinstance(network, nn.Module) else None
        if layers is None:
            jacobian, packed = taylor_func.differentiate(network, (x,), full, memory_limit)
        else:
            _check_width(layers, x)
            jacobian, packed = taylor_feedforward.closed_form(layers, x, full, memory_limit)
    return as_terms(jacobian, packed)


@torch.no_grad()
def stacked_terms(
    stack: NetworkStack, x: Tensor, order: str = 'gradient', chosen: Sequence[int] | None = None
) -> TaylorTerms:
    """The terms of N networks, each at its own samples x (N, B, m), as ``taylor_terms`` of each.

    The N networks are all of the stack, or those that are ``chosen``.

    Shapes: jacobian (N, B, d, m), hessian (N, B, d, m(m+1)/2).
    """
    full = check_order(order, 1)
    check_point(x.flatten(0, 1), 'x', None)
    count, batch, _ = x.shape
    layers = stack.layers(batch, range(count) if chosen is None else chosen)
    jacobian, packed = taylor_feedforward.sweep(layers, x.flatten(0, 1), full)
    terms = as_terms(jacobian, packed)
    hessian = None if terms.hessian is None else terms.hessian.unflatten(0, (count, batch))
    return TaylorTerms(terms.jacobian.unflatten(0, (count, batch)), hessian)


def _no_terms(mean: Tensor, x: Tensor, full: bool) -> TaylorTerms:
    """Terms of an empty batch x (0, m) with mean (0, d)."""
    d, m = mean.shape[1], x.shape[1]
    packed = x.new_zeros(0, d, m * (m + 1) // 2) if full else None
    return as_terms(x.new_zeros(0, d, m), packed)


def as_terms(jacobian: Tensor, packed: Tensor | None) -> TaylorTerms:
    """Terms from a Jacobian (B, d, m) and unscaled packed Hessians (B, d, p)."""
    if packed is None:
        return TaylorTerms(jacobian)
    scale = _pair_scale(jacobian.shape[-1], packed.dtype, packed.device)
    return TaylorTerms(jacobian, packed * scale)


@torch.no_grad()
def soft_argmax_terms(
    decoder: nn.Module,
    features: Tensor,
    lift: nn.Module,
    z: Tensor,
    temperature: float | Tensor = 1.0,
    order: str = 'gradient',
    memory_limit: int = 2**30,
) -> TaylorTerms:
    """Terms of z → soft_argmax(decoder(features + lift(z))), exactly, as constants.

    The network that made ``features`` is not run again. A decoder of convolutions, batch norms and
    ReLUs goes the closed way, for which ``lift`` must be affine; any other goes by torch.func.
    Modules are taken in eval mode and left in the mode they had.

    Shapes: features (B, C, h, w), z (B, m), lift (B, m) → (B, C, h, w), decoder → (B, K, H, W);
    jacobian (B, 2K, m) with rows x1, y1, x2, y2, …, hessian (B, 2K, m(m+1)/2).
    """
    full = check_order(order, memory_limit)
    check_point(z, 'z', lift)
    if features.ndim != 4 or features.shape[0] != z.shape[0]:
        raise ValueError(
            f'features: expected shape ({z.shape[0]}, C, h, w), got {shape_of(features)}'
        )
    features, z = features.detach().to(z.dtype), z.detach()

    def mean(point: Tensor, base: Tensor) -> Tensor:
        return soft_argmax(decoder(base + lift(point)), temperature).flatten(1)

    with torch.autocast(z.device.type, enabled=False), evaluating(decoder, lift):
        if not len(z):
            return _no_terms(mean(z, features), z, full)
        layers = convolutional.flatten(decoder)
        if layers is None:
            jacobian, packed = taylor_func.differentiate(mean, (z, features), full, memory_limit)
        else:
            jacobian, packed = taylor_soft_argmax.closed_form(
                layers, features, lift, z, temperature, full, memory_limit
            )
    return as_terms(jacobian, packed)
