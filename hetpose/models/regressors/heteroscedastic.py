"""A mean network and a covariance network under one objective.

Axes: B batch, m inputs, d targets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from mmengine.logging import MessageHub
from mmengine.model import BaseModel
from mmpose.registry import MODELS
from torch import Tensor, nn

from hetpose.models.covariance import CovarianceParameterisation
from hetpose.models.objectives import Objective
from hetpose.models.phase import Phase, Switchable, same_meaning
from hetpose.models.regressors.diverged import DivergedError
from hetpose.ops.covariance import Covariance
from hetpose.ops.spd import NotPositiveDefiniteError, to_float64
from hetpose.ops.taylor.feedforward import ResidualMLP
from hetpose.ops.taylor.terms import taylor_terms
from hetpose.ops.validation import NotFiniteError

Config = dict[str, Any]
MODELS.register_module(module=ResidualMLP)


@MODELS.register_module()
class FreeVector(nn.Module):
    """One trainable vector for every input: (B, m) → (B, out_dim).

    Args:
        in_dim: not used by the values; kept so that networks are built alike.
        out_dim: length of the vector.
    """

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.in_dim = in_dim
        self.values = nn.Parameter(torch.zeros(out_dim))

    def forward(self, x: Tensor) -> Tensor:
        return self.values.expand(len(x), -1)


def default_width(out_dim: int) -> int:
    """d² + 2: as many as a full factor and the two scales of a Taylor-induced covariance need."""
    return out_dim * out_dim + 2


def build_networks(
    network: dict[str, Any], in_dim: int, out_dim: int, seed: int, covariance_outputs: int = 0
) -> tuple[nn.Module, nn.Module]:
    """The mean network (→ d) and the covariance network (→ d² + 2), without shared parameters.

    The covariance network has more outputs where ``covariance_outputs`` asks for more.

    Their weights depend on the seed and the dimensions alone, so every method of a trial starts
    from the same ones. Width defaults to d² + 2.
    """
    raw_dim = default_width(out_dim)
    config = dict(network)
    if config['type'] == 'ResidualMLP' and config.get('width') is None:
        config['width'] = raw_dim
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        mean = MODELS.build(dict(config, in_dim=in_dim, out_dim=out_dim))
        outputs = max(raw_dim, covariance_outputs)
        covariance = MODELS.build(dict(config, in_dim=in_dim, out_dim=outputs))
    return mean, covariance


@MODELS.register_module()
class HeteroscedasticRegressor(Switchable, BaseModel):
    """μ(x) and Σ(x) from two networks without shared parameters.

    Args:
        in_dim, out_dim: m and d.
        objective: config of an Objective.
        covariance: config of a CovarianceParameterisation, or None for a mean alone.
        network: config of both networks; dimensions are filled in.
        seed: of the initial weights; they do not depend on objective or covariance.
        covariance_outputs: outputs of the covariance network, where d² + 2 are too few for a
            covariance that the model will be switched to.
        data_preprocessor: as in mmengine; the default moves batches to the device.
    """

    covariance_weights = ('covariance_network.', 'covariance.')

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        objective: Config,
        covariance: Config | None = None,
        network: Config | None = None,
        seed: int = 0,
        data_preprocessor: Config | None = None,
        covariance_outputs: int = 0,
    ) -> None:
        super().__init__(data_preprocessor=data_preprocessor)
        self.out_dim = out_dim
        network = network or {'type': 'ResidualMLP'}
        needed = 0 if covariance is None else MODELS.build(covariance).num_outputs(out_dim)
        self.outputs = max(default_width(out_dim), covariance_outputs, needed)
        self.mean_network, self.covariance_network = build_networks(
            network, in_dim, out_dim, seed, self.outputs
        )
        self.objective: Objective
        self.covariance: CovarianceParameterisation | None = None
        self._go_to(Phase(0, objective, covariance))

    @property
    def mean_frozen(self) -> bool:
        """Whether the mean network is held fixed."""
        return self.phase.mean_frozen

    def freeze_mean(self) -> None:
        """Hold the mean network fixed, in eval mode, from now on."""
        self._go_to(replace(self.phase, mean_frozen=True))

    def train(self, mode: bool = True) -> HeteroscedasticRegressor:
        """Training mode, but for a frozen mean network."""
        super().train(mode)
        if self.mean_frozen:
            self.mean_network.eval()
        return self

    def forward(
        self,
        x: Tensor,
        y: Tensor | None = None,
        target_root: Tensor | None = None,
        mode: str = 'tensor',
        **known: Tensor,
    ) -> Any:
        """Loss, prediction or distribution of inputs x (B, m).

        Args:
            x, y: (B, m), (B, d).
            target_root: symmetric root of Σ̃, (B, d, d).
            mode: 'loss' → dict of the loss and the squared error; 'predict' → [dict(mean=(B, d),
                covariance=(B, d, d) or None)], with degrees_of_freedom=(B,) of a Student-t;
                'tensor' → (mean, Covariance or None).
            known: true moments, which only metrics read.
        """
        if mode == 'loss':
            assert y is not None
            return self.loss(x, y, target_root)
        if mode == 'predict':
            return [self.predict(x)]
        return self.distribution(x)

    def predict(self, x: Tensor) -> dict[str, Tensor | None]:
        """The mean (B, d) and Σ (B, d, d) or None at x (B, m), in float64.

        Both are finite, Σ is exactly symmetric and positive definite. Of a Student-t also its
        degrees of freedom (B,).
        """
        with self._divergence_named(x):
            mean, covariance = self.distribution(x, torch.float64)
            matrix = None
            if covariance is not None:
                matrix = to_float64(covariance.matrix, 'predicted covariance')
        if not torch.isfinite(mean).all():
            raise self.diverged('the predicted mean holds NaN or infinite values')
        predicted = {'mean': mean.double(), 'covariance': matrix}
        if covariance is not None and covariance.degrees_of_freedom is not None:
            predicted['degrees_of_freedom'] = covariance.degrees_of_freedom.double()
        return predicted

    def distribution(
        self, x: Tensor, dtype: torch.dtype = torch.float32
    ) -> tuple[Tensor, Covariance | None]:
        """The mean (B, d) and Σ at x (B, m), formed from the network's outputs in ``dtype``.

        Training takes float32, predictions float64.
        """
        raw_mean = self.mean_network(x)
        if self.covariance is None:
            return raw_mean, None
        count = self.covariance.num_outputs(self.out_dim)
        raw = self.covariance_network(x)[:, :count] if count else x.new_zeros(len(x), 0)
        raw = raw.to(torch.promote_types(raw.dtype, dtype))
        order = self.covariance.taylor_order
        terms = None if order is None else taylor_terms(self.mean_network, x, order)
        covariance = self.covariance(raw, self.out_dim, terms)
        return self.covariance.location(raw_mean, covariance), covariance

    def loss(self, x: Tensor, y: Tensor, target_root: Tensor | None) -> dict[str, Tensor]:
        """The objective's mean over the batch, and ‖r‖² for those who watch the mean alone."""
        with self._divergence_named(x, y, target_root):
            mean, covariance = self.distribution(x)
            loss = self.objective(mean, y, covariance, target_root).mean()
        if not torch.isfinite(loss):
            raise self.diverged(f'the loss is {float(loss.detach())}')
        squared_error = (y - mean.detach()).square().sum(-1).mean()
        return {'loss': loss, 'squared_error': squared_error}

    @contextmanager
    def _divergence_named(self, *inputs: Tensor | None) -> Iterator[None]:
        """Turn what bad weights, not bad input, make the algebra refuse into a DivergedError."""
        try:
            yield
        except (NotPositiveDefiniteError, NotFiniteError) as error:
            if not all(bool(torch.isfinite(value).all()) for value in inputs if value is not None):
                raise
            raise self.diverged(str(error)) from error

    def diverged(self, reason: str) -> DivergedError:
        """The error that ends this run."""
        parts = [self.objective, self.covariance]
        method = ' + '.join(type(part).__name__ for part in parts if part is not None)
        step = MessageHub.get_current_instance().get_info('iter', 0)
        return DivergedError(method, step, reason)

    def _train(self, phase: Phase) -> None:
        kept = phase.objective == self.phase.objective
        objective = self.objective if kept else MODELS.build(phase.objective)
        previous = self.covariance
        covariance = self._built_covariance(phase)
        objective.check(covariance, self.out_dim)
        self.objective = objective
        self.covariance = covariance
        if phase.mean_frozen != self.phase.mean_frozen:
            self.mean_network.requires_grad_(not phase.mean_frozen)
            self.mean_network.train(self.training and not phase.mean_frozen)
        if covariance is not None and not same_meaning(phase.covariance, self.phase.covariance):
            self._start_outputs(covariance, first=previous is None)

    def _built_covariance(self, phase: Phase) -> CovarianceParameterisation | None:
        """The parameterisation of a phase; one that means the same keeps its anchor."""
        if phase.covariance is None:
            return None
        if self.covariance is not None and phase.covariance == self.phase.covariance:
            return self.covariance
        built: CovarianceParameterisation = MODELS.build(phase.covariance)
        built.check_outputs(self.out_dim, self.outputs)
        built.prepare(self.out_dim)
        goes_on = same_meaning(phase.covariance, self.phase.covariance)
        if built.relocates and self.phase.objective is not None and not goes_on:
            raise ValueError(
                f'{type(built).__name__} gives the mean network another meaning: it cannot be '
                'switched to'
            )
        if goes_on and self.covariance is not None:
            built.load_state_dict(self.covariance.state_dict())
        return built.to(next(self.parameters()).device).train(self.training)

    @torch.no_grad()
    def _start_outputs(self, covariance: CovarianceParameterisation, first: bool) -> None:
        """Let the outputs begin where a new covariance wants them, whatever was trained before."""
        network = self.covariance_network
        if isinstance(network, FreeVector):
            # At A = 0 the gradient of A Aᵀ is 0: the vector cannot begin there.
            if first or covariance.starts_at_zero:
                outputs = covariance.identity_outputs(self.out_dim)
                network.values[: len(outputs)] = outputs
        elif covariance.starts_at_zero:
            last = list(network.children())[-1]
            assert isinstance(last, nn.Linear)
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
