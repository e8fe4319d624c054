"""Registered metrics for the mmengine evaluator."""

from hetpose.evaluation.metrics.calibration import CalibrationMetric
from hetpose.evaluation.metrics.likelihood import LikelihoodMetric
from hetpose.evaluation.metrics.pose import HeteroscedasticPoseMetric
from hetpose.evaluation.metrics.regression import RegressionMetric

__all__ = [
    'RegressionMetric',
    'CalibrationMetric',
    'HeteroscedasticPoseMetric',
    'LikelihoodMetric',
]
