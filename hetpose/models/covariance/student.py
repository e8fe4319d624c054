"""A Student-t: the scale of another parameterisation, and degrees of freedom of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from mmpose.registry import MODELS
from torch import Tensor
from torch.nn.functional import softplus

from hetpose.models.covariance.base import CovarianceParameterisation, inverse_softplus
from hetpose.ops.covariance import Covariance

if TYPE_CHECKING:
    from hetpose.models.covariance.anchored import ResidualAnchor
    from hetpose.ops.taylor.terms import TaylorTerms

LOWEST, START = 2.1, 5.0
LEAST_LOWEST = 2.001  # nearer to 2, ν/(ν − 2) overflows in single precision
INHERITED = ('taylor_order', 'diagonal', 'only_dim', 'starts_at_zero', 'anchored', 'relocates')


@MODELS.register_module()
class StudentCovariance(CovarianceParameterisation):
    """S = (1 − 2/start)·scale(raw) and ν = lowest + softplus(raw + shift), by one more raw output.

    The last raw output makes ν; it is 0 at ν = ``start``, where Σ = ν/(ν − 2)·S is what the
    parameterisation of the scale alone would give: an anchored one starts at the covariance of
    the residuals. The network shapes S, not Σ: where errors have tails so heavy that ν tends to
    2, S keeps the size of the usual error, while Σ grows without bound and would have to be
    learned against the growing factor.

    Args:
        scale: config of the parameterisation of S.
        lowest: ν stays above it. It must be above 2, or there is no covariance to predict, and
            Σ stays below lowest/(lowest − 2)·S. Errors with heavier tails than that pay for it in
            likelihood. From 2.001 on ν/(ν − 2) is a number in single precision.
        start: ν at raw outputs of 0.
        floor: that of the scale, where its config has none. It is the smallest eigenvalue that Σ
            may have at ν = ``start``; at larger ν Σ is up to 1 − 2/start times smaller.
    """

    heavy_tailed = True

    def __init__(
        self,
        scale: dict[str, Any],
        lowest: float = LOWEST,
        start: float = START,
        floor: float | None = None,
    ) -> None:
        config = dict(scale) if floor is None else {'floor': floor, **scale}
        built: CovarianceParameterisation = MODELS.build(config)
        super().__init__(built.floor)
        if not LEAST_LOWEST <= lowest < start:
            raise ValueError(
                f'expected {LEAST_LOWEST} <= lowest < start, got lowest {lowest}, start {start}'
            )
        if built.heavy_tailed or not built.trainable:
            raise ValueError(f'{config["type"]} cannot be the scale of a Student-t')
        self.lowest = float(lowest)
        self.start = float(start)
        self.shape = built
        for name in INHERITED:
            setattr(self, name, getattr(built, name))

    @property
    def meaning(self) -> tuple:
        return *super().meaning, self.shape.meaning, self.lowest, self.start

    @property
    def residual_anchor(self) -> ResidualAnchor | None:
        return self.shape.residual_anchor

    def prepare(self, dim: int) -> None:
        self.shape.prepare(dim)

    def num_outputs(self, dim: int) -> int:
        return self.shape.num_outputs(dim) + 1

    def identity_outputs(self, dim: int) -> Tensor:
        return torch.cat([self.shape.identity_outputs(dim), torch.zeros(1)])

    def degrees_of_freedom(self, raw: Tensor) -> Tensor:
        """ν (...) from its raw output (...)."""
        return self.lowest + softplus(raw + inverse_softplus(self.start - self.lowest))

    def build(self, raw: Tensor, dim: int, taylor: TaylorTerms | None) -> Covariance:
        shape = self.shape.build(raw[..., :-1], dim, taylor)
        scale = shape.times(raw.new_tensor(1 - 2 / self.start))
        return Covariance.of_student(scale, self.degrees_of_freedom(raw[..., -1]))

    def location(self, raw_mean: Tensor, covariance: Covariance) -> Tensor:
        return self.shape.location(raw_mean, covariance.scale)
