import pytest
import torch

from hetpose.evaluation.functional.scores import calibration_scores
from hetpose.ops.distribution import Distribution


def test_scores_leave_out_empty_samples_and_refuse_nothing_at_all():
    residual = torch.randn(50, 4, dtype=torch.float64)
    factor = torch.randn(50, 4, 4, dtype=torch.float64)
    covariance = factor @ factor.mT + torch.eye(4, dtype=torch.float64)
    mask = torch.ones(50, 4, dtype=torch.bool)
    mask[:10] = False
    found = calibration_scores(Distribution.of_residuals(residual, covariance, mask))
    assert found.numbers() == pytest.approx(
        calibration_scores(Distribution.of_residuals(residual[10:], covariance[10:])).numbers()
    )
    with pytest.raises(ValueError, match='nothing is present'):
        calibration_scores(Distribution.of_residuals(residual, covariance, torch.zeros_like(mask)))
