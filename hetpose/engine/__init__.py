"""Hooks and launch logic."""

from hetpose.engine import hooks

__all__ = ['hooks']
