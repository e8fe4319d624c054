"""Hooks and launch logic."""

from hetpose.engine import experiment, hooks, optimizers

__all__ = ['experiment', 'hooks', 'optimizers']
