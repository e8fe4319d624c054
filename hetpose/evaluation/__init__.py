"""Metrics: pure functions and their registered shells."""

from hetpose.evaluation import metrics

__all__ = ['metrics']
