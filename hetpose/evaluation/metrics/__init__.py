"""Registered metrics for the mmengine evaluator."""

from hetpose.evaluation.metrics.pose import HeteroscedasticPoseMetric

__all__ = ['HeteroscedasticPoseMetric']
