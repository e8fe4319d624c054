"""Hooks and launch logic."""

from hetpose.engine import hooks, optimizers, suite

__all__ = ['hooks', 'optimizers', 'suite']
