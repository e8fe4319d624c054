"""The phase of a training run: which objective and which covariance the weights belong to."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from mmengine.logging import print_log
from mmpose.registry import MODELS
from torch import Tensor, nn

from hetpose.errors import UserError

Config = dict[str, Any]
STATE_KEY = '_extra_state'  # torch's name for the record in a state dict


@dataclass(frozen=True)
class Phase:
    """The objective and the covariance that a model trains, as plain values.

    Args:
        number: how many switches lie behind it; None where a checkpoint does not tell.
        objective, covariance: configs; the covariance is None for a mean alone, the objective
            where a checkpoint does not tell.
        mean_frozen: whether the mean network is held fixed.
    """

    number: int | None = 0
    objective: Config | None = None
    covariance: Config | None = None
    mean_frozen: bool = False

    def to_tensor(self) -> Tensor:
        """The record as bytes (n,): mmengine saves tensors only."""
        text = json.dumps(asdict(self), sort_keys=True)
        return torch.tensor(list(text.encode()), dtype=torch.uint8)

    @classmethod
    def from_tensor(cls, record: Tensor) -> Phase:
        """Read a record; that of an earlier version holds the config of the covariance alone."""
        try:
            content = json.loads(bytes(record.tolist()).decode())
            return cls(**content) if 'number' in content else cls(None, None, content)
        except (TypeError, ValueError) as error:
            raise UserError(f'the record of the training phase is damaged: {error}') from error


class Switchable(nn.Module):
    """The part of a model that trains in phases: it owns their record.

    The record travels with the weights, in the state dict. Whoever loads weights therefore also
    gets the objective and the covariance that they belong to. Settings that leave the meaning of
    the weights as it is, such as a floor, stay those of the model.
    """

    phase = Phase()
    covariance_weights: tuple[str, ...] = ()
    """How the names of the weights begin whose meaning depends on the covariance."""

    def switch(self, objective: Config | None = None, covariance: Config | None = None) -> None:
        """Begin the next phase; None leaves the objective or the covariance as it is."""
        self._go_to(
            replace(
                self.phase,
                number=(self.phase.number or 0) + 1,
                objective=objective or self.phase.objective,
                covariance=covariance or self.phase.covariance,
            )
        )

    def enter(self, recorded: Phase, own: Phase | None = None) -> None:
        """Go to the phase of a checkpoint, whose weights are loaded next.

        Args:
            recorded: the phase of the checkpoint.
            own: the configs whose settings win where they mean the same; by default those in
                force.
        """
        own = own or self.phase
        if recorded.number is None:
            recorded = replace(recorded, number=self.phase.number)
        if recorded.objective is None or same_type(own.objective, recorded.objective):
            recorded = replace(recorded, objective=own.objective)
        if same_meaning(own.covariance, recorded.covariance):
            recorded = replace(recorded, covariance=own.covariance)
        self._go_to(recorded)

    def _go_to(self, phase: Phase) -> None:
        plain = replace(
            phase, objective=_plain(phase.objective), covariance=_plain(phase.covariance)
        )
        if plain != self.phase:
            self._train(plain)
            self.phase = plain

    def _train(self, phase: Phase) -> None:
        """Build what a phase trains, in place of what ``self.phase`` describes."""
        raise NotImplementedError

    def get_extra_state(self) -> Tensor:
        """The record, for the state dict."""
        return self.phase.to_tensor()

    def set_extra_state(self, state: Tensor) -> None:
        """Enter the phase of a state dict; torch calls this before it loads the children."""
        recorded = Phase.from_tensor(state)
        if not same_meaning(recorded.covariance, self.phase.covariance):
            print_log(
                f'the weights belong to {recorded.covariance}: it replaces '
                f'{self.phase.covariance}',
                logger='current',
                level=logging.WARNING,
            )
        self.enter(recorded)


def same_type(one: Config | None, other: Config | None) -> bool:
    """Whether two configs name the same class."""
    return (_plain(one) or {}).get('type') == (_plain(other) or {}).get('type')


def same_meaning(one: Config | None, other: Config | None) -> bool:
    """Whether two covariance configs read the outputs of a network alike; floors may differ."""
    if one is None or other is None:
        return one is other
    return same_type(one, other) and _meaning(one) == _meaning(other)


def _meaning(covariance: Config) -> tuple:
    return MODELS.build(covariance).meaning


def _plain(config: Config | None) -> Config | None:
    """A config as JSON would give it back, so that records compare equal."""
    if config is None:
        return None
    return json.loads(json.dumps(config, default=lambda value: value.__name__))


def find_switchable(model: nn.Module) -> Any:
    """The part of a model that trains in phases: the model itself, its head or a part of that."""
    for part in model.modules():
        if isinstance(part, Switchable):
            return part
    raise TypeError(f'no part of {type(model).__name__} trains in phases')


def is_switchable(model: nn.Module) -> bool:
    """Whether a part of a model trains in phases."""
    return any(isinstance(part, Switchable) for part in model.modules())


def require_part(hook: object, model: nn.Module, *names: str) -> None:
    """Raise where a model has no part that trains in phases, or that part lacks an attribute."""
    kind = type(hook).__name__
    if not is_switchable(model):
        raise UserError(
            f'custom_hooks: {kind} needs a model of hetpose, and no part of '
            f'{type(model).__name__} trains in phases'
        )
    part = find_switchable(model)
    missing = [name for name in names if not hasattr(part, name)]
    if missing:
        raise UserError(
            f'custom_hooks: {kind} needs a HeteroscedasticRegressor; {type(part).__name__} has no '
            f'{missing[0]}'
        )
