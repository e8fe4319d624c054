"""Metrics: pure functions and their registered shells (``hetpose.evaluation.metrics``)."""
