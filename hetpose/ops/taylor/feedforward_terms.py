"""Jacobian and Hessian of a feed-forward network with pointwise activations, in closed form.

With a_l the input of activation l, J_l = ∂a_l/∂x and g_l = ∂f/∂φ(a_l):
    H_k = Σ_l J_lᵀ diag(g_{l,k} ⊙ φ''(a_l)) J_l.
One forward sweep carries J (m columns), one backward sweep carries g (d rows). Where there are
fewer pairs of inputs than outputs, the forward sweep carries the second derivatives as well.

Axes: B batch, m inputs, d outputs, n width of a layer, p = m(m+1)/2 packed pairs of inputs.
Jacobians are kept transposed, (B, m, n), so that a layer is one matrix product over B·m rows.
A batch axis of 1 stands for "the same for all samples", as before the first activation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hetpose.ops.taylor.feedforward import Residual
from hetpose.ops.taylor.pointwise import Pointwise, compose, pointwise, with_skip

# The products of pairs of columns are formed in a buffer that stays in cache while it is used.
PAIR_BUFFER_BYTES = 2**22
# Below this, few large kernels beat many small ones.
GATHER_BYTES = 2**20

_PLAIN_FORWARDS = {nn.Sequential.forward, Residual.forward}


@dataclass
class Affine:
    """a → W a + b, with W (n_out, n_in).

    Of a stack of N networks W is (N, n_out, n_in) and b (N, n_out): the rows of a batch belong to
    the networks in turn, the same number to each.
    """

    weight: Tensor
    bias: Tensor | None


@dataclass
class Activation:
    """A pointwise function of the whole layer."""

    function: Pointwise


@dataclass
class Skip:
    """x → x + f(x)."""

    layers: list[Layer]


Layer = Affine | Activation | Skip


@dataclass
class Step:
    """The values of one layer of the forward sweep that the backward sweep needs."""

    layer: Layer
    first: Tensor | None = None  # (B, n) or (n,)
    second: Tensor | None = None  # (B, n)
    jacobian: Tensor | None = None  # (B, m, n): of the activation's input
    inner: list[Step] = field(default_factory=list)


def parse(network: nn.Module) -> list[Layer] | None:
    """The network as a list of layers, or None where a part of it is not known in closed form."""
    if network._forward_hooks or network._forward_pre_hooks:
        return None  # a hook may change what the module computes
    if isinstance(network, nn.Sequential) and type(network).forward in _PLAIN_FORWARDS:
        return _parse_sequence(network)
    if type(network) in (nn.Identity, nn.Dropout):
        return []
    if type(network) is nn.Linear:
        return [Affine(network.weight, network.bias)]
    function = pointwise(network)
    return None if function is None else [Activation(function)]


def _parse_sequence(network: nn.Sequential) -> list[Layer] | None:
    layers: list[Layer] = []
    for module in network:
        parsed = parse(module)
        if parsed is None:
            return None
        layers.extend(parsed)
    layers = _merge(layers)
    if not isinstance(network, Residual):
        return layers
    if len(network) and getattr(network[0], 'inplace', False):
        return None  # it overwrites the x of x + f(x)
    if len(layers) == 1 and isinstance(layers[0], Activation):
        return [Activation(with_skip(layers[0].function))]
    return [Skip(layers)]


def _merge(layers: Sequence[Layer]) -> list[Layer]:
    """Neighbouring pointwise layers become one, which saves a pass over the Jacobians for each."""
    merged: list[Layer] = []
    for layer in layers:
        last = merged[-1] if merged else None
        if isinstance(layer, Activation) and isinstance(last, Activation):
            merged[-1] = Activation(compose((last.function, layer.function)))
        else:
            merged.append(layer)
    return merged


def evaluate(layers: Sequence[Layer], x: Tensor) -> tuple[Tensor, list[Step]]:
    """The network's value (B, d) and a tape with the activations' derivatives."""
    tape = []
    for layer in layers:
        step = Step(layer)
        if isinstance(layer, Affine):
            x = linear(x, layer.weight, layer.bias)
        elif isinstance(layer, Activation):
            done = layer.function(x)
            x, step.first, step.second = done.value, done.first, done.second
        else:
            value, step.inner = evaluate(layer.layers, x)
            x = x + value
        tape.append(step)
    return x, tape


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """rows @ Wᵀ + b of rows (B, ..., n_in), by the one network or by each one's own of a stack."""
    if weight.ndim == 2:
        return F.linear(rows, weight, bias)
    own = rows.reshape(len(weight), -1, rows.shape[-1])
    done = own @ weight.mT if bias is None else torch.baddbmm(bias.unsqueeze(1), own, weight.mT)
    return done.view(*rows.shape[:-1], -1)


def _rows(diagonal: Tensor) -> Tensor:
    """A diagonal (B, n) or (n,) that scales the last axis of (B, rows, n)."""
    return diagonal.unsqueeze(-2)


def forward_sweep(tape: Sequence[Step], jacobian: Tensor, keep: bool) -> Tensor:
    """Carry ∂a/∂x, (B or 1, m, n), to the end; ``keep`` it where an activation bends."""
    for step in tape:
        if isinstance(step.layer, Affine):
            jacobian = linear(jacobian, step.layer.weight)
        elif step.first is not None:
            if keep and step.second is not None:
                step.jacobian = jacobian
            jacobian = jacobian * _rows(step.first)
        else:
            jacobian = jacobian + forward_sweep(step.inner, jacobian, keep)
    return jacobian


def backward_sweep(tape: Sequence[Step], gradient: Tensor, hessian: Tensor | None) -> Tensor:
    """Carry ∂f/∂a, (B or 1, d, n), to the start; each activation adds to ``hessian``."""
    for step in reversed(tape):
        if isinstance(step.layer, Affine):
            gradient = linear(gradient, step.layer.weight.mT)
        elif step.first is not None:
            if hessian is not None and step.second is not None and step.jacobian is not None:
                add_curvature(hessian, gradient * _rows(step.second), step.jacobian)
                step.jacobian = None  # not needed again
            gradient = gradient * _rows(step.first)
        else:
            gradient = gradient + backward_sweep(step.inner, gradient, hessian)
    return gradient


def second_sweep(tape: Sequence[Step], carried: Tensor, m: int) -> Tensor:
    """Carry first and second derivatives of a by x to the end, (B or 1, m + p, n): m rows, then p.

    An activation makes φ'(a)·∂²a + φ''(a)·∂a ∂a of the second ones.
    """
    for step in tape:
        if isinstance(step.layer, Affine):
            carried = linear(carried, step.layer.weight)
        elif step.first is not None:
            bent = None
            if step.second is not None:
                bent = _rows(step.second) * pair_products(carried[:, :m])
            carried = carried * _rows(step.first)
            if bent is not None:
                carried[:, m:] += bent
        else:
            carried = carried + second_sweep(step.inner, carried, m)
    return carried


def pair_products(columns: Tensor, buffer: Tensor | None = None) -> Tensor:
    """Products of the pairs i ≤ j of rows: (B, m, n) → (B, p, n), as torch.triu_indices."""
    batch, m, n = columns.shape
    if buffer is None:
        i, j = torch.triu_indices(m, m, device=columns.device)
        return columns.index_select(1, i).mul_(columns.index_select(1, j))
    pairs, start = buffer[:batch], 0
    for i in range(m):
        torch.mul(columns[:, i : i + 1], columns[:, i:], out=pairs[:, start : start + m - i])
        start += m - i
    return pairs


def add_curvature(hessian: Tensor, weights: Tensor, jacobian: Tensor) -> None:
    """Add Σ_n weights[b,k,n] J[b,i,n] J[b,j,n] to the packed ``hessian`` (B, d, p), in place.

    weights (B, d, n), jacobian (B or 1, m, n).
    """
    pairs_bytes = hessian.shape[-1] * jacobian.shape[-1] * jacobian.element_size()
    if jacobian.shape[0] == 1:
        hessian += weights @ pair_products(jacobian).squeeze(0).mT
    elif pairs_bytes * jacobian.shape[0] <= GATHER_BYTES:
        hessian.baddbmm_(weights, pair_products(jacobian).mT)
    else:
        size = min(max(PAIR_BUFFER_BYTES // pairs_bytes, 1), jacobian.shape[0])
        buffer = jacobian.new_empty(size, hessian.shape[-1], jacobian.shape[-1])
        for start in range(0, jacobian.shape[0], size):
            part = slice(start, start + size)
            pairs = pair_products(jacobian[part], buffer)
            hessian[part].baddbmm_(weights[part], pairs.mT)


def sweep(layers: Sequence[Layer], x: Tensor, full: bool) -> tuple[Tensor, Tensor | None]:
    """Jacobian (B, d, m) and packed, unscaled Hessian (B, d, p) or None of one chunk."""
    value, tape = evaluate(layers, x)
    (batch, m), d = x.shape, value.shape[-1]
    stacked = any(layer.weight.ndim == 3 for layer in affine_layers(layers))

    def start(size: int) -> Tensor:
        """The identity for all samples at once; networks of a stack have their own samples."""
        identity = torch.eye(size, dtype=x.dtype, device=x.device).unsqueeze(0)
        return identity.expand(batch, -1, -1) if stacked else identity

    pairs = m * (m + 1) // 2
    if full and pairs <= d:
        carried = torch.cat([start(m), start(m).new_zeros(len(start(m)), pairs, m)], dim=1)
        first, second = second_sweep(tape, carried, m).mT.split([m, pairs], dim=-1)
        return first.expand(batch, -1, -1), second.expand(batch, -1, -1)
    if not full and d < m:
        return backward_sweep(tape, start(d), None).expand(batch, -1, -1), None
    jacobian = forward_sweep(tape, start(m), keep=full).mT.expand(batch, -1, -1)
    if not full:
        return jacobian, None
    hessian = x.new_zeros(batch, d, pairs)
    backward_sweep(tape, start(d), hessian)
    return jacobian, hessian


def affine_layers(layers: Sequence[Layer]) -> list[Affine]:
    """All affine layers in order, inner ones too."""
    found: list[Affine] = []
    for layer in layers:
        if isinstance(layer, Affine):
            found.append(layer)
        elif isinstance(layer, Skip):
            found.extend(affine_layers(layer.layers))
    return found


def _bytes_per_sample(layers: Sequence[Layer], x: Tensor, full: bool) -> int:
    """Bytes of a sweep per sample: kept Jacobians, working copies of the widest, Hessian."""
    m = x.shape[-1]
    outputs = [layer.weight.shape[-2] for layer in layers if isinstance(layer, Affine)]
    d, widths = (
        (outputs or [m])[-1],
        [m, *(layer.weight.shape[-2] for layer in affine_layers(layers))],
    )
    numbers = 4 * max(m, d) * max(widths) + 8 * sum(widths)
    if full:
        numbers += m * sum(widths) + d * m * (m + 1) // 2
    return numbers * x.element_size()


def closed_form(
    layers: Sequence[Layer], x: Tensor, full: bool, memory_limit: int
) -> tuple[Tensor, Tensor | None]:
    """Jacobian (B, d, m) and Hessian (B, d, p), packed, of parsed ``layers`` at x (B, m)."""
    size = max(memory_limit // _bytes_per_sample(layers, x, full), 1)
    if size >= len(x):
        return sweep(layers, x, full)
    parts = [sweep(layers, chunk, full) for chunk in x.split(size)]
    jacobian = torch.cat([part[0] for part in parts])
    hessians = [part[1] for part in parts if part[1] is not None]
    return jacobian, torch.cat(hessians) if full else None
