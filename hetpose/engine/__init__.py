"""Hooks and launch logic."""
