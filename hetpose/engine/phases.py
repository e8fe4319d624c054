"""Bring a model into the phase that a checkpoint was trained in, without a Runner."""

from __future__ import annotations

from typing import Any

from mmengine.config import Config
from torch import nn

from hetpose.engine.hooks.objective_switch import find_switchable, switches_done


def enter_phase(model: nn.Module, config: Config, checkpoint: dict[str, Any]) -> None:
    """Make the switches of the config's ObjectiveSwitchHook that lie behind a checkpoint.

    To be called before the weights are loaded: another covariance may have other weights, and
    gives the same weights another meaning.
    """
    for hook in config.get('custom_hooks') or []:
        if hook['type'] == 'ObjectiveSwitchHook':
            switches = sorted(hook['switches'], key=lambda switch: switch['epoch'])
            for switch in switches[: switches_done(checkpoint, switches)]:
                part = find_switchable(model)
                part.switch(switch.get('objective'), switch.get('covariance'))
