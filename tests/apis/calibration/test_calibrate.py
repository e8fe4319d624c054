import json
import math

import pytest
import torch

from hetpose.apis.calibration.arrays import distribution_of
from hetpose.apis.calibration.calibrate import calibrate
from hetpose.apis.calibration.predictions import Predictions
from hetpose.apis.calibration.recalibration import Recalibration
from hetpose.errors import UserError
from hetpose.ops.gaussian import sample

NAMES = ('a', 'b', 'c')


def predictions(scale: float = 1.0, count: int = 1200) -> Predictions:
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(count, 6, 6, generator=generator, dtype=torch.float64)
    cov = factor @ factor.mT + torch.eye(6, dtype=torch.float64)
    mean = torch.zeros(count, 6, dtype=torch.float64)
    target = sample(mean, cov, 1, generator)[0]
    data = distribution_of(mean, scale * cov, target, block=2)
    return Predictions(data, NAMES, 'pixels', 'my_config', 'abc')


def test_report_of_a_covariance_four_times_too_large(tmp_path):
    report = calibrate(predictions(4.0), conformal=0.9)
    assert report.recalibration.alpha[0] == pytest.approx(0.25, rel=0.1)
    assert report.before.overall.ece > 0.2
    assert report.after.overall.ece < 0.05
    assert report.conformal['whole'].scale[0] == pytest.approx(1, rel=0.15)
    for covered in report.conformal_coverage.values():
        assert min(covered) > 0.84
    for path in report.write(tmp_path / 'out'):
        assert path.stat().st_size > 0
    numbers = json.loads((tmp_path / 'out' / 'report.json').read_text())
    assert numbers['conformal']['per_block']['count'] == [300] * 3
    again = Recalibration.load(
        tmp_path / 'out' / 'calibration.json', dim=6, joint_names=NAMES, model='my_config'
    )
    assert again == report.recalibration
    text = (tmp_path / 'out' / 'report.md').read_text()
    assert 'pixels²' in text
    assert 'all parts at once' in text


def test_a_separate_fit_split_leaves_the_judged_one_whole():
    report = calibrate(predictions(2.0), predictions(2.0, count=300), per_joint=True)
    assert report.before.overall.count == 1200
    assert report.recalibration.count == 300
    assert report.recalibration.alpha == pytest.approx([0.5] * 3, rel=0.25)


def test_too_few_samples_for_the_level_give_an_infinite_scale_not_a_wrong_one(tmp_path):
    report = calibrate(predictions(count=20), conformal=0.9)
    assert report.conformal['whole'].scale == (math.inf,)
    assert report.numbers()['conformal']['whole']['scale'] == [None]
    assert 'inf' in report.markdown()


def test_the_report_warns_where_the_fit_discards_the_prediction():
    generator = torch.Generator().manual_seed(0)
    wild = torch.randn(400, 1, generator=generator, dtype=torch.float64).mul(6).exp()
    target = torch.randn(400, 2, generator=generator, dtype=torch.float64)
    data = distribution_of(0 * target, wild.expand(-1, 2), target, block=2)
    useless = Predictions(data, ('a',))
    assert 'almost 0 for all' in calibrate(useless).markdown()
    assert 'almost 0' not in calibrate(useless, floor=False).markdown()


@pytest.mark.parametrize(
    'arguments', [{'fit_fraction': 0.0}, {'fit_fraction': 1e-6}, {'conformal': 1.5}]
)
def test_bad_fractions_and_levels_are_user_errors(arguments):
    with pytest.raises(UserError):
        calibrate(predictions(count=50), **arguments)
