import pytest
import torch

from hetpose.evaluation.functional.scores import calibration_scores
from hetpose.ops.distribution import Distribution
from hetpose.visualization.reliability import plot_calibration


@pytest.mark.parametrize('count', [1, 3, 500])
def test_a_picture_is_written_for_any_number_of_samples(tmp_path, count):
    residual = torch.randn(count, 2, dtype=torch.float64)
    covariance = torch.eye(2, dtype=torch.float64).expand(count, 2, 2)
    scores = calibration_scores(Distribution.of_residuals(residual, covariance))
    path = tmp_path / 'calibration.png'
    plot_calibration(path, scores, {'a': scores, 'b': scores}, units='pixels', title='t')
    assert path.read_bytes().startswith(b'\x89PNG')
    assert list(tmp_path.iterdir()) == [path]
