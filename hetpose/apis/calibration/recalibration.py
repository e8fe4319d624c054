"""The recalibration Σ → αΣ + βI of one model: fitted once, kept in a file, and applied."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hetpose.apis.calibration.arrays import distribution_of
from hetpose.errors import UserError
from hetpose.evaluation.functional.recalibration import (
    fit_coverage,
    fit_per_block,
    fit_scale_and_floor,
)
from hetpose.fileio import write_json
from hetpose.ops.distribution import Distribution
from hetpose.ops.gaussian import recalibrate
from hetpose.ops.spd import to_float64
from hetpose.ops.student import predictive_nll

FORMAT = 'hetpose-recalibration-1'


def weights_fingerprint(model: nn.Module) -> str:
    """Sixteen hexadecimal digits that depend on every weight of the model, not on its device."""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        if isinstance(value, Tensor):
            digest.update(f'{name}{tuple(value.shape)}{value.dtype}'.encode())
            digest.update(
                value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
            )
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Recalibration:
    """Σ → αΣ + βI with one α and β, or with one of each for every joint.

    Per joint it is Σ → D^½ΣD^½ + diag(β), which keeps the correlations.

    alpha, beta: 1 or K numbers; beta is in squared ``units``.
    dim, joint_names, model (the config's name), weights (``weights_fingerprint``): the model whose
    covariances these are; None or empty where it is unknown.
    count: samples of the fit; nll_before, nll_after: mean NLL on them.
    """

    alpha: tuple[float, ...]
    beta: tuple[float, ...]
    dim: int
    count: int
    nll_before: float
    nll_after: float
    joint_names: tuple[str, ...] = ()
    units: str = ''
    model: str | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        if len(self.alpha) != len(self.beta) or not self.alpha or self.dim % len(self.alpha):
            raise ValueError(
                f'{len(self.alpha)} alpha and {len(self.beta)} beta do not fit dim {self.dim}'
            )
        numbers = (*self.alpha, *self.beta)
        if not all(math.isfinite(v) and v >= 0 for v in numbers):
            raise ValueError('alpha and beta must be finite and not negative')
        if any(a + b == 0 for a, b in zip(self.alpha, self.beta, strict=True)):
            raise ValueError('alpha and beta are both zero: the covariance would vanish')

    @classmethod
    def fit(
        cls,
        mean: Any,
        cov: Any,
        target: Any,
        mask: Any = None,
        *,
        degrees_of_freedom: Any = None,
        per_joint: bool = False,
        floor: bool = True,
        block: int | None = None,
        joint_names: Sequence[str] = (),
        units: str = '',
        model: str | None = None,
        weights: str | None = None,
    ) -> Recalibration:
        """The α and β of highest likelihood on samples that did not train the model;
        ``floor=False`` keeps β at 0.

        Arrays as for ``hetpose.calibration``. Per joint, each joint is fitted on its own marginal.
        Degrees of freedom stay as they are.
        """
        data = distribution_of(mean, cov, target, mask, block, degrees_of_freedom)
        return cls.of(data, per_joint, floor, joint_names, units, model, weights)

    @classmethod
    def of(
        cls,
        data: Distribution,
        per_joint: bool = False,
        floor: bool = True,
        joint_names: Sequence[str] = (),
        units: str = '',
        model: str | None = None,
        weights: str | None = None,
        level: float | None = None,
    ) -> Recalibration:
        """``fit`` of arrays that were checked before.

        With a ``level``, α is that of ``fit_coverage`` and β is 0, whatever the likelihood.
        """
        residual, covariance, here = data.residual, data.covariance, data.present
        nu = data.degrees_of_freedom
        alpha: tuple[float, ...]
        beta: tuple[float, ...]
        if level is not None:
            scale = fit_coverage(residual, covariance, here, data.block, level, nu)
            alpha, beta = (scale,), (0.0,)
        elif per_joint:
            alpha, beta = fit_per_block(residual, covariance, here, data.block, floor, nu)
        else:
            pair = fit_scale_and_floor(residual, covariance, here, floor, nu)
            alpha, beta = (pair[0],), (pair[1],)
        nll_before = predictive_nll(residual, covariance, nu, here).mean().item()
        changed = _apply(covariance, alpha, beta)
        nll_after = predictive_nll(residual, changed, nu, here).mean().item()
        return cls(
            alpha,
            beta,
            data.dim,
            len(data),
            nll_before,
            nll_after,
            tuple(joint_names),
            units,
            model,
            weights,
        )

    @property
    def per_joint(self) -> bool:
        """Whether every joint has its own α and β."""
        return len(self.alpha) > 1

    def apply(self, covariance: Any) -> Any:
        """αΣ + βI in float64, positive definite; numpy for numpy, torch for torch.

        Shape: (..., d, d).
        """
        if covariance.shape[-2:] != (self.dim, self.dim):
            raise ValueError(
                f'covariance has shape {tuple(covariance.shape)}, '
                f'expected (..., {self.dim}, {self.dim})'
            )
        if isinstance(covariance, Tensor):
            return _apply(to_float64(covariance), self.alpha, self.beta)
        return _apply(to_float64(torch.as_tensor(covariance)), self.alpha, self.beta).numpy()

    def check(
        self,
        *,
        dim: int | None = None,
        joint_names: Sequence[str] | None = None,
        model: str | None = None,
        weights: str | None = None,
        source: str = 'the calibration',
    ) -> Recalibration:
        """Itself, or a UserError that names the difference from the model at hand.

        An argument that is None is not compared.
        """
        wanted = {
            'dim': dim,
            'joint_names': None if joint_names is None else tuple(joint_names),
            'model': model,
            'weights': weights,
        }
        for name, value in wanted.items():
            own = getattr(self, name)
            if value is not None and own not in (None, ()) and own != value:
                raise UserError(
                    f'{source} belongs to another model: its {name} is {_short(own)}, this model '
                    f'has {_short(value)}; fit one for this model with tools/calibrate.py'
                )
        return self

    def save(self, path: str | Path) -> None:
        """Write JSON, whole or not at all."""
        write_json(path, {'format': FORMAT, **asdict(self)})

    @classmethod
    def load(cls, path: str | Path, **expected: Any) -> Recalibration:
        """Read the file of ``save``, and ``check`` it against the ``expected`` values."""
        path = Path(path)
        try:
            values = json.loads(path.read_text(encoding='utf-8'))
        except OSError as error:
            raise UserError(f'cannot read calibration file {path}: {error.strerror}') from error
        except ValueError as error:
            raise UserError(f'{path} is not a calibration file: no JSON ({error})') from error
        if not isinstance(values, dict) or values.pop('format', None) != FORMAT:
            raise UserError(f'{path} is not a calibration file: its "format" is not {FORMAT!r}')
        try:
            for name in ('alpha', 'beta', 'joint_names'):
                values[name] = tuple(values[name])
            made = cls(**values)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f'{path} is damaged: {error}') from error
        return made.check(**expected, source=f'calibration file {path}')


def _apply(covariance: Tensor, alpha: tuple[float, ...], beta: tuple[float, ...]) -> Tensor:
    """D^½ΣD^½ + diag(β) with each α and β repeated over its block. Shape: (..., d, d)."""
    repeat = covariance.shape[-1] // len(alpha)
    pair = torch.tensor([alpha, beta], dtype=covariance.dtype, device=covariance.device)
    scale, floor = pair.repeat_interleave(repeat, dim=-1)
    return recalibrate(covariance, scale, floor)


def _short(value: Any) -> str:
    text = ', '.join(value) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 80 else f'{text[:77]}...'
