"""The phases that a config plans, and the one that a checkpoint was saved in."""

from __future__ import annotations

from typing import Any

from mmengine.config import Config
from mmengine.model import is_model_wrapper
from torch import Tensor, nn

from hetpose.engine.checkpoint import weights_of
from hetpose.models.phase import STATE_KEY, Phase, find_switchable, is_switchable, same_meaning


def planned_phases(config: Config) -> list[Phase]:
    """The phases of a config in their order: that of the model, then one for every switch."""
    part = config.model.get('head', config.model)
    phases = [Phase(0, part.get('objective'), part.get('covariance'))]
    for hook in config.get('custom_hooks') or []:
        if hook['type'] != 'ObjectiveSwitchHook':
            continue
        for switch in sorted(hook['switches'], key=lambda switch: switch['epoch']):
            last = phases[-1]
            phases.append(
                Phase(
                    len(phases),
                    switch.get('objective') or last.objective,
                    switch.get('covariance') or last.covariance,
                )
            )
    return phases


def recorded_phase(model: nn.Module, weights: dict[str, Tensor]) -> Phase | None:
    """The phase that weights belong to; None where they do not tell."""
    if not is_switchable(model):
        return None
    record = weights.get(_name(model, STATE_KEY))
    return None if record is None else Phase.from_tensor(record)


def enter_phase(model: nn.Module, config: Config, checkpoint: dict[str, Any]) -> None:
    """Bring a model into the phase that a checkpoint was saved in, without its weights.

    To be called before the weights are checked and loaded: another covariance may have other
    buffers. Settings that leave the meaning of the weights as it is are those of the config.
    """
    recorded = recorded_phase(model, weights_of(checkpoint))
    if recorded is None:
        return
    planned = planned_phases(config)
    number = recorded.number or 0
    own = planned[number] if number < len(planned) else None
    find_switchable(model).enter(recorded, own)


def start_weights(model: nn.Module, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a checkpoint that another training starts from: the config sets the phase.

    The record of the checkpoint is left out. Where its covariance reads the outputs of the network
    in another way, the weights behind them are left out as well.
    """
    recorded = recorded_phase(model, weights)
    if recorded is None:
        return weights
    part = find_switchable(model)
    left_out = [STATE_KEY]
    if not same_meaning(recorded.covariance, part.phase.covariance):
        left_out += part.covariance_weights
    prefixes = tuple(_name(model, name) for name in left_out)
    return {name: value for name, value in weights.items() if not name.startswith(prefixes)}


def _name(model: nn.Module, name: str) -> str:
    """The name in a state dict of ``model`` of what its switchable part calls ``name``."""
    whole: Any = model.module if is_model_wrapper(model) else model
    part = find_switchable(model)
    prefix = next(path for path, module in whole.named_modules() if module is part)
    return f'{prefix}.{name}' if prefix else name
