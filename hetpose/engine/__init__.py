"""Hooks and launch logic."""

from hetpose.engine import hooks, optimizers, resume, seeding, suite

__all__ = ['hooks', 'optimizers', 'resume', 'seeding', 'suite']
