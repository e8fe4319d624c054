import json

import pytest
import torch

import hetpose
from hetpose.apis.calibration.report import calibration
from hetpose.ops.gaussian import sample


@pytest.fixture(scope='module')
def arrays() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(3000, 6, 6, generator=generator, dtype=torch.float64)
    cov = factor @ factor.mT + torch.eye(6, dtype=torch.float64)
    mean = 100 * torch.rand(3000, 6, generator=generator, dtype=torch.float64)
    return mean.reshape(-1, 3, 2), cov, sample(mean, cov, 1, generator)[0].reshape(-1, 3, 2)


def test_it_is_exported(arrays):
    assert hetpose.calibration is calibration


def test_numbers_of_a_right_model(arrays):
    result = calibration(*arrays, names=['a', 'b', 'c'], units='pixels')
    numbers = result.numbers()
    assert list(result.parts) == ['a', 'b', 'c']
    for scores in [numbers['overall'], *numbers['parts'].values()]:
        assert scores['coverage_90'] == pytest.approx(0.9, abs=0.025)
        assert scores['ece'] < 0.02
        assert scores['rmse'] == pytest.approx(scores['rms_std'], rel=0.05)
        assert scores['ause'] < scores['ause_random']
    assert 'ellipse_area_90' in numbers['parts']['a']
    assert 'right within sampling error' in result.verdict()
    json.dumps(numbers)


def test_verdict_says_over_and_under_confident(arrays):
    mean, cov, target = arrays
    assert calibration(mean, cov / 4, target).verdict().startswith('Over-confident')
    assert calibration(mean, cov * 4, target).verdict().startswith('Under-confident')


def test_summary_is_a_table_with_a_row_per_part(arrays):
    lines = calibration(*arrays, names=['a', 'b', 'c'], units='pixels').summary().splitlines()
    table = [line for line in lines if line.startswith('|')]
    assert len(table) == 2 + 4
    assert len({line.count('|') for line in table}) == 1
    assert lines[-1].endswith('pixels.')


def test_a_joint_that_is_always_missing_is_left_out(arrays):
    mean, cov, target = arrays
    mask = torch.ones(3000, 3)
    mask[:, 1] = 0
    result = calibration(mean, cov, target, mask, names=['a', 'b', 'c'])
    assert list(result.parts) == ['a', 'c']
    assert result.overall.dims == 3000 * 4


def test_names_must_fit(arrays):
    with pytest.raises(ValueError, match='2 entries for 3'):
        calibration(*arrays, names=['a', 'b'])
