"""Metrics: pure functions and their registered shells."""
