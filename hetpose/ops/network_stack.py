"""Residual networks of one shape as one: a layer of all of them is one matrix product.

The networks of the regression suites are so small that a training step is mostly the overhead of
its kernels. Stacked, many networks share one kernel, and the backward pass is written out.

Axes: N networks, B batch, m inputs, n width, o outputs, P weights of a network. Within a stack
samples are columns, (N, n, B): then a batch norm over B needs no copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from hetpose.ops.taylor.feedforward import ResidualMLP
from hetpose.ops.taylor.feedforward_terms import Activation, Affine, Layer, Skip
from hetpose.ops.taylor.pointwise import (
    Derivatives,
    Pointwise,
    compose,
    norm_affine,
    pointwise,
    with_skip,
)

STATISTICS = ('running_mean', 'running_var', 'num_batches_tracked')
_aten = torch.ops.aten


def _elu_gradient(gradient: Tensor, value: Tensor) -> Tensor:
    return _aten.elu_backward(gradient, 1.0, 1.0, 1.0, True, value)


# The function, and its gradient from that of its value and the value itself.
SIGMAS: dict[type[nn.Module], tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    nn.ELU: (nn.functional.elu, _elu_gradient),
    nn.Tanh: (torch.tanh, _aten.tanh_backward),
}


@dataclass
class Norm:
    """The batch norms at one place of all networks: statistics (N, n)."""

    module: nn.BatchNorm1d
    statistics: dict[str, Tensor]

    def affine(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Scale and shift (N, n) in eval mode."""
        mean, variance = (self.statistics[name] for name in ('running_mean', 'running_var'))
        return norm_affine(mean, variance, self.module.eps, weight, bias)


@dataclass
class BlockTape:
    """Values of a residual block for its backward pass: (N, n, B), the moments (N·n,)."""

    entered: Tensor
    inner: Tensor
    linear: Tensor
    moments: tuple[Tensor, Tensor]
    value: Tensor


class NetworkStack:
    """N residual networks whose weights and running statistics become views of the stack's own.

    A network goes on as before, on its own: it sees every update of its row.

    Args:
        networks: of one shape, not two of them the same.

    Attributes:
        weights: one flat Parameter (P,) for each network, for an optimiser.
        gradients: (N, P), which ``backward`` fills.
    """

    def __init__(self, networks: Sequence[ResidualMLP]) -> None:
        first = networks[0]
        shapes = [parameter.shape for parameter in first.parameters()]
        for network in networks:
            if [parameter.shape for parameter in network.parameters()] != shapes:
                raise ValueError('networks: expected one shape, got several')
        self.count, self.blocks = len(networks), len(first) - 3
        flat = torch.stack([parameters_to_vector(n.parameters()) for n in networks]).detach()
        self.gradients = torch.zeros_like(flat)
        for network, row, gradient in zip(networks, flat, self.gradients, strict=True):
            vector_to_parameters(row, network.parameters())
            slots = gradient.split([shape.numel() for shape in shapes])
            for parameter, slot in zip(network.parameters(), slots, strict=True):
                parameter.grad = slot.view_as(parameter)
        self.weights = [nn.Parameter(row) for row in flat]
        names = [name for name, _ in first.named_parameters()]
        self._views = _split(flat, names, shapes)
        self._slots = _split(self.gradients, names, shapes)
        self._norms = [
            _stacked_norm([network.get_submodule(f'{2 + block}.3') for network in networks])
            for block in range(self.blocks)
        ]
        self._activation = first.get_submodule('1.0')
        self._sigma, self._sigma_gradient = SIGMAS[type(self._activation)]

    @torch.no_grad()
    def forward(self, x: Tensor, training: bool = True) -> Tensor:
        """The outputs (N, B, o) at x (N, B, m); in training the running statistics move.

        ``backward`` is for the last pass in training.
        """
        columns = x.mT
        first = self._linear('0', columns)
        bent = self._sigma(first)
        hidden = first + bent
        self._tape: list[BlockTape] = []
        for block in range(self.blocks):
            hidden = self._block(block, hidden, training)
        if training:
            self._ends = columns, bent, hidden
        return self._linear(str(2 + self.blocks), hidden).mT

    def _block(self, block: int, entered: Tensor, training: bool) -> Tensor:
        place = 2 + block
        inner = self._sigma(self._linear(f'{place}.0', entered))
        linear = self._linear(f'{place}.2', inner)
        norm, batch = self._norms[block], linear.shape[-1]
        normal, *moments = torch.native_batch_norm(
            linear.view(1, -1, batch),
            self._views[f'{place}.3.weight'].reshape(-1),
            self._views[f'{place}.3.bias'].reshape(-1),
            norm.statistics['running_mean'].view(-1),
            norm.statistics['running_var'].view(-1),
            training,
            norm.module.momentum or 0.0,
            norm.module.eps,
        )
        value = self._sigma(normal.view_as(linear))
        if training:
            norm.statistics['num_batches_tracked'] += 1
            self._tape.append(BlockTape(entered, inner, linear, (moments[0], moments[1]), value))
        return entered + value

    @torch.no_grad()
    def backward(self, gradient: Tensor) -> None:
        """Fill ``gradients`` from the gradient of the outputs, (N, B, o)."""
        columns, bent, hidden = self._ends
        carried = self._linear_back(str(2 + self.blocks), gradient.mT, hidden)
        for block in reversed(range(self.blocks)):
            carried = carried + self._block_back(block, carried)
        carried = carried + self._sigma_gradient(carried, bent)
        self._linear_back('0', carried, columns, further=False)

    def _block_back(self, block: int, gradient: Tensor) -> Tensor:
        place, tape, norm = 2 + block, self._tape[block], self._norms[block]
        gradient = self._sigma_gradient(gradient, tape.value)
        batch = gradient.shape[-1]
        gradient, scale, shift = _aten.native_batch_norm_backward(
            gradient.view(1, -1, batch),
            tape.linear.view(1, -1, batch),
            self._views[f'{place}.3.weight'].reshape(-1),
            norm.statistics['running_mean'].view(-1),
            norm.statistics['running_var'].view(-1),
            *tape.moments,
            True,
            norm.module.eps,
            [True, True, True],
        )
        self._slots[f'{place}.3.weight'].copy_(scale.view(self.count, -1))
        self._slots[f'{place}.3.bias'].copy_(shift.view(self.count, -1))
        carried = self._linear_back(f'{place}.2', gradient.view_as(tape.linear), tape.inner)
        carried = self._sigma_gradient(carried, tape.inner)
        return self._linear_back(f'{place}.0', carried, tape.entered)

    def _linear(self, name: str, columns: Tensor) -> Tensor:
        weight, bias = self._views[f'{name}.weight'], self._views[f'{name}.bias']
        return torch.baddbmm(bias.unsqueeze(-1), weight, columns)

    def _linear_back(
        self, name: str, gradient: Tensor, columns: Tensor, further: bool = True
    ) -> Tensor:
        """Fill the gradients of a layer; that of its input (N, n_in, B) if ``further``."""
        torch.bmm(gradient, columns.mT, out=self._slots[f'{name}.weight'])
        torch.sum(gradient, -1, out=self._slots[f'{name}.bias'])
        return torch.bmm(self._views[f'{name}.weight'].mT, gradient) if further else gradient

    def layers(self, batch: int, chosen: Sequence[int]) -> list[Layer]:
        """Chosen networks in eval mode for Taylor terms of B samples each, one after the other."""
        rows = slice(None) if list(chosen) == list(range(self.count)) else list(chosen)

        def affine(name: str) -> Affine:
            weight, bias = (self._views[f'{name}.{part}'] for part in ('weight', 'bias'))
            return Affine(weight[rows], bias[rows])

        sigma = pointwise(self._activation)
        assert sigma is not None
        made: list[Layer] = [affine('0'), Activation(with_skip(sigma))]
        for block, norm in enumerate(self._norms):
            place = 2 + block
            scale, shift = norm.affine(
                self._views[f'{place}.3.weight'], self._views[f'{place}.3.bias']
            )
            norms = [value[rows].repeat_interleave(batch, 0) for value in (scale, shift)]
            after = Activation(compose((_scaled(*norms), sigma)))
            before = affine(f'{place}.0'), Activation(sigma), affine(f'{place}.2')
            made.append(Skip([*before, after]))
        return [*made, affine(str(2 + self.blocks))]


def _scaled(scale: Tensor, shift: Tensor) -> Pointwise:
    return lambda a: Derivatives(torch.addcmul(shift, scale, a), scale, None)


def _split(flat: Tensor, names: Sequence[str], shapes: Sequence[torch.Size]) -> dict[str, Tensor]:
    """The parts (N, *shape) of rows (N, P), as views."""
    parts = flat.split([shape.numel() for shape in shapes], dim=1)
    return {
        name: part.unflatten(1, tuple(shape))
        for name, part, shape in zip(names, parts, shapes, strict=True)
    }


def _stacked_norm(modules: Sequence[nn.Module]) -> Norm:
    """Batch norms whose statistics are rows of common tensors from now on."""
    first, statistics = modules[0], {}
    assert isinstance(first, nn.BatchNorm1d)
    for name in STATISTICS:
        statistics[name] = torch.stack([getattr(module, name) for module in modules])
        for module, row in zip(modules, statistics[name], strict=True):
            setattr(module, name, row)
    return Norm(first, statistics)
