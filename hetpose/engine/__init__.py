"""Hooks and launch logic."""

from hetpose.engine import hooks, optimizers, seeding, suite

__all__ = ['hooks', 'optimizers', 'seeding', 'suite']
