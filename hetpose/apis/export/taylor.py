"""The Jacobian of the mean written as plain operators, for exporters that cannot differentiate.

Axes: B batch, K joints, C channels, (h, w) feature map, (H, W) heatmap, m entries of z.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hetpose.errors import UserError
from hetpose.ops.taylor.convolutional import flatten


class SoftArgmaxJacobian(nn.Module):
    """∂ soft_argmax(decoder(F + lift(z))) / ∂z by a forward sweep of m images per sample.

    The columns of lift pass the decoder's layers without their biases, through the gates that the
    ReLUs of F + lift(z) leave open. With logits h_i, a_i = ∂h_i/∂z, p = softmax(τh), c_i a pixel's
    place and u = Σ p_i c_i: ∂u/∂z = τ Σ p_i (c_i − u) a_i.

    Args:
        decoder: Convolutions, batch norms in evaluation mode and ReLUs, nested in Sequentials.
        lift: A linear map from z to feature maps.
        dim: m.
    """

    columns: Tensor

    def __init__(self, decoder: nn.Module, lift: nn.Module, dim: int) -> None:
        super().__init__()
        leaves = [module for module in decoder.modules() if not isinstance(module, nn.Sequential)]
        for layer in leaves:
            if flatten(layer) is None:
                raise UserError(
                    f'a Taylor-induced covariance over {type(layer).__name__} cannot be exported; '
                    'its decoder may hold convolutions, batch norms and ReLUs'
                )
        layers = flatten(decoder)
        if layers is None:
            raise UserError('a decoder with forward hooks cannot be exported')
        self.layers = nn.ModuleList(layers)
        with torch.no_grad():
            device = next(lift.parameters()).device
            unit = torch.eye(dim, device=device)
            self.register_buffer('columns', lift(unit) - lift(torch.zeros_like(unit)))

    def forward(self, lifted: Tensor, temperature: Tensor) -> Tensor:
        """F + lift(z) (B, C, h, w) → Jacobian (B, 2K, m), rows x1, y1, x2, y2, ..."""
        dim = self.columns.shape[0]
        value = lifted
        moves = self.columns.expand(lifted.shape[0], *self.columns.shape).flatten(0, 1)
        for layer in self.layers:
            after = layer(value)
            moves = _push(layer, moves, after, dim)
            value = after
        moves = moves.reshape(-1, dim, *value.shape[1:]).flatten(-2)  # (B, m, K, HW)
        weights = _weights(value, temperature)  # (B, K, 2, HW)
        return torch.einsum('bkip,bmkp->bkim', weights, moves).flatten(1, 2)


def _push(layer: nn.Module, moves: Tensor, after: Tensor, dim: int) -> Tensor:
    """Small moves (B·m, C, h, w) after a layer; ``after`` is its output, (B, C, h, w)."""
    if isinstance(layer, nn.ConvTranspose2d):
        assert not isinstance(layer.padding, str)
        return functional.conv_transpose2d(
            moves,
            layer.weight,
            None,
            layer.stride,
            layer.padding,
            layer.output_padding,
            layer.groups,
            layer.dilation,
        )
    if isinstance(layer, nn.Conv2d):
        return functional.conv2d(
            moves, layer.weight, None, layer.stride, layer.padding, layer.dilation, layer.groups
        )
    if isinstance(layer, nn.BatchNorm2d):
        assert layer.running_var is not None
        scale = layer.weight / (layer.running_var + layer.eps).sqrt()
        return moves * scale[:, None, None]
    if isinstance(layer, nn.ReLU):
        gates = (after > 0).to(moves.dtype).unsqueeze(1)
        return (moves.reshape(-1, dim, *moves.shape[1:]) * gates).flatten(0, 1)
    return moves


def _weights(logits: Tensor, temperature: Tensor) -> Tensor:
    """τ p_i (c_i − u) for x and y, from logits (B, K, H, W): (B, K, 2, H·W)."""
    height, width = logits.shape[-2:]
    p = (temperature * logits).flatten(-2).softmax(-1)
    y, x = torch.meshgrid(
        torch.arange(height, dtype=p.dtype, device=p.device),
        torch.arange(width, dtype=p.dtype, device=p.device),
        indexing='ij',
    )
    places = torch.stack([x.flatten(), y.flatten()])  # (2, HW)
    mean = torch.einsum('bkp,ip->bki', p, places)
    return temperature * p.unsqueeze(-2) * (places - mean.unsqueeze(-1))
