"""Feed-forward networks whose derivatives :mod:`hetpose.ops.taylor.terms` knows in closed form."""

from __future__ import annotations

from torch import Tensor, nn

ACTIVATIONS: dict[str, type[nn.Module]] = {'elu': nn.ELU, 'tanh': nn.Tanh}


class Residual(nn.Sequential):
    """A sequence with a skip connection: x (B, n) → x + f(x) (B, n)."""

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x + super().forward(x)


class ResidualMLP(nn.Sequential):
    """The residual regression network: x (B, in_dim) → (B, out_dim).

    Linear(in, width), x + σ(x), ``blocks`` residual blocks [Linear, σ, Linear, BatchNorm, σ],
    Linear(width, out).
    """

    def __init__(
        self, in_dim: int, out_dim: int, width: int, blocks: int = 5, activation: str = 'elu'
    ) -> None:
        for name, value in (('in_dim', in_dim), ('out_dim', out_dim), ('width', width)):
            if value < 1:
                raise ValueError(f'{name} must be at least 1, got {value}')
        if blocks < 0:
            raise ValueError(f'blocks must not be negative, got {blocks}')
        if activation not in ACTIVATIONS:
            raise ValueError(
                f'activation must be one of {sorted(ACTIVATIONS)}, got {activation!r}'
            )
        sigma = ACTIVATIONS[activation]
        super().__init__(
            nn.Linear(in_dim, width),
            Residual(sigma()),
            *(_block(width, sigma) for _ in range(blocks)),
            nn.Linear(width, out_dim),
        )


def _block(width: int, sigma: type[nn.Module]) -> Residual:
    """One residual block of constant width."""
    return Residual(
        nn.Linear(width, width),
        sigma(),
        nn.Linear(width, width),
        nn.BatchNorm1d(width),
        sigma(),
    )
