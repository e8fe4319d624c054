"""Activations with their first and second derivatives, and how they compose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_BatchNorm = nn.modules.batchnorm._BatchNorm


@dataclass(frozen=True)
class Derivatives:
    """φ(a), φ'(a), φ''(a), each (B, n) or broadcasting to it; ``second`` None is zero."""

    value: Tensor
    first: Tensor
    second: Tensor | None


Pointwise = Callable[[Tensor], Derivatives]


def _elu(module: nn.ELU, a: Tensor) -> Derivatives:
    positive = a > 0
    slope = module.alpha * torch.exp(a.clamp(max=0))
    value = F.elu(a, module.alpha)
    return Derivatives(value, slope.masked_fill(positive, 1), slope.masked_fill(positive, 0))


def _tanh(module: nn.Tanh, a: Tensor) -> Derivatives:
    value = torch.tanh(a)
    first = 1 - value.square()
    return Derivatives(value, first, -2 * value * first)


def _sigmoid(module: nn.Sigmoid, a: Tensor) -> Derivatives:
    value = torch.sigmoid(a)
    first = value * (1 - value)
    return Derivatives(value, first, first * (1 - 2 * value))


def _silu(module: nn.SiLU, a: Tensor) -> Derivatives:
    s = torch.sigmoid(a)
    slope = s * (1 - s)
    return Derivatives(a * s, s + a * slope, slope * (2 + a * (1 - 2 * s)))


def _softplus(module: nn.Softplus, a: Tensor) -> Derivatives:
    value = F.softplus(a, module.beta, module.threshold)
    first = torch.sigmoid(module.beta * a)
    linear = module.beta * a > module.threshold
    second = (module.beta * first * (1 - first)).masked_fill(linear, 0)
    return Derivatives(value, first.masked_fill(linear, 1), second)


def _gelu(module: nn.GELU, a: Tensor) -> Derivatives:
    if module.approximate == 'tanh':
        return _gelu_tanh(a)
    cumulative = 0.5 * torch.erfc(-a / math.sqrt(2))
    density = torch.exp(-0.5 * a.square()) / math.sqrt(2 * math.pi)
    return Derivatives(a * cumulative, cumulative + a * density, density * (2 - a.square()))


def _gelu_tanh(a: Tensor) -> Derivatives:
    c, k = math.sqrt(2 / math.pi), 0.044715
    t = torch.tanh(c * (a + k * a**3))
    inner, curvature = c * (1 + 3 * k * a.square()), 6 * c * k * a
    slope = 1 - t.square()
    second = slope * inner + 0.5 * a * slope * (curvature - 2 * t * inner.square())
    return Derivatives(0.5 * a * (1 + t), 0.5 * (1 + t) + 0.5 * a * slope * inner, second)


def _relu(module: nn.ReLU, a: Tensor) -> Derivatives:
    return Derivatives(a.relu(), (a > 0).to(a.dtype), None)


def _leaky_relu(module: nn.LeakyReLU, a: Tensor) -> Derivatives:
    slope = torch.ones_like(a).masked_fill(a <= 0, module.negative_slope)
    return Derivatives(a * slope, slope, None)


# Exact types only: a subclass may compute something else.
_ACTIVATIONS: dict[type[nn.Module], Callable[..., Derivatives]] = {
    nn.ELU: _elu,
    nn.Tanh: _tanh,
    nn.Sigmoid: _sigmoid,
    nn.SiLU: _silu,
    nn.Softplus: _softplus,
    nn.GELU: _gelu,
    nn.ReLU: _relu,
    nn.LeakyReLU: _leaky_relu,
}


def norm_affine(
    mean: Tensor, variance: Tensor, eps: float, weight: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Scale and shift of y = scale·x + shift, a batch norm in eval mode, each (..., n)."""
    scale = torch.rsqrt(variance + eps)
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale
    return scale, shift if bias is None else shift + bias


def batch_norm_affine(module: nn.Module) -> tuple[Tensor, Tensor]:
    """Scale and shift, each (n,), of a batch norm in eval mode: y = scale·x + shift."""
    assert isinstance(module, _BatchNorm)
    if module.running_mean is None or module.running_var is None:
        raise ValueError(
            'network: a batch norm without running statistics couples the samples of a batch, so '
            'no Jacobian per sample exists; set track_running_stats=True'
        )
    return norm_affine(
        module.running_mean, module.running_var, module.eps, module.weight, module.bias
    )


def pointwise(module: nn.Module) -> Pointwise | None:
    """The module as a pointwise function with derivatives, or None where it is not a known one."""
    if type(module) is nn.BatchNorm1d:
        scale, shift = batch_norm_affine(module)
        return lambda a: Derivatives(torch.addcmul(shift, scale, a), scale, None)
    known = _ACTIVATIONS.get(type(module))
    return None if known is None else lambda a: known(module, a)


def compose(functions: Sequence[Pointwise]) -> Pointwise:
    """φ_n ∘ … ∘ φ_1 with (ψ∘φ)' = ψ'φ' and (ψ∘φ)'' = ψ''φ'² + ψ'φ''."""
    if len(functions) == 1:
        return functions[0]

    def composed(a: Tensor) -> Derivatives:
        done = functions[0](a)
        for function in functions[1:]:
            outer = function(done.value)
            second = None if done.second is None else outer.first * done.second
            if outer.second is not None:
                bend = outer.second * done.first.square()
                second = bend if second is None else second + bend
            done = Derivatives(outer.value, outer.first * done.first, second)
        return done

    return composed


def with_skip(function: Pointwise) -> Pointwise:
    """x + φ(x), which is pointwise as well."""

    def skipped(a: Tensor) -> Derivatives:
        inner = function(a)
        return Derivatives(a + inner.value, 1 + inner.first, inner.second)

    return skipped
