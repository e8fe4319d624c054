"""Registered metrics for the mmengine evaluator."""
