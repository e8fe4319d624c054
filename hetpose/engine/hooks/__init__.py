"""Runner hooks."""

from hetpose.engine.hooks.objective_switch import ObjectiveSwitchHook

__all__ = ['ObjectiveSwitchHook']
