import json
from dataclasses import replace

import pytest
import torch
from torch import nn

from hetpose.apis.calibration.recalibration import Recalibration, weights_fingerprint
from hetpose.errors import UserError
from hetpose.ops.gaussian import sample

NAMES = ('head', 'left_hand', 'right_hand')


@pytest.fixture(scope='module')
def fitted() -> tuple[Recalibration, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(2000, 6, 6, generator=generator, dtype=torch.float64)
    cov = factor @ factor.mT + torch.eye(6, dtype=torch.float64)
    mean = torch.zeros(2000, 6, dtype=torch.float64)
    target = sample(mean, cov, 1, generator)[0]
    found = Recalibration.fit(
        mean, 4 * cov, target, joint_names=NAMES, units='pixels', model='a.py', weights='abc'
    )
    return found, 4 * cov


def test_four_times_too_large_is_corrected(fitted):
    found, cov = fitted
    assert found.alpha[0] == pytest.approx(0.25, rel=0.05)
    assert found.nll_after < found.nll_before
    assert torch.allclose(found.apply(cov), found.alpha[0] * cov)
    assert found.apply(cov.numpy()).shape == (2000, 6, 6)


def test_per_joint_scales_blocks_and_keeps_correlations():
    made = Recalibration((1.0, 4.0), (0.0, 0.5), 4, 10, 0.0, 0.0)
    cov = torch.tensor([[3.0, 1, 1, 0], [1, 3, 0, 1], [1, 0, 3, 1], [0, 1, 1, 3]]).double()
    out = made.apply(cov)
    assert made.per_joint
    assert torch.allclose(out[2:, 2:], 4 * cov[2:, 2:] + 0.5 * torch.eye(2).double())
    assert torch.allclose(out[:2, 2:], 2 * cov[:2, 2:])
    with pytest.raises(ValueError, match='expected'):
        made.apply(torch.eye(6))


def test_file_round_trip(fitted, tmp_path):
    found, _ = fitted
    found.save(tmp_path / 'deep' / 'calibration.json')
    again = Recalibration.load(
        tmp_path / 'deep' / 'calibration.json',
        dim=6,
        joint_names=list(NAMES),
        model='a.py',
        weights='abc',
    )
    assert again == found
    assert [p.name for p in (tmp_path / 'deep').iterdir()] == ['calibration.json']


@pytest.mark.parametrize(
    'other',
    [{'dim': 28}, {'joint_names': ['a', 'b', 'c']}, {'model': 'b.py'}, {'weights': 'xyz'}],
)
def test_file_of_another_model_is_refused_in_one_line(fitted, tmp_path, other):
    found, _ = fitted
    found.save(tmp_path / 'calibration.json')
    with pytest.raises(UserError, match='belongs to another model') as error:
        Recalibration.load(tmp_path / 'calibration.json', **other)
    assert '\n' not in str(error.value)
    assert next(iter(other)) in str(error.value)


def test_what_nobody_recorded_is_not_checked(fitted):
    anonymous = replace(fitted[0], model=None, weights=None, joint_names=())
    assert anonymous.check(dim=6, model='b.py', weights='xyz', joint_names=['a']) is anonymous


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (None, 'cannot read'),
        ('no json', 'no JSON'),
        ('{"alpha": 1}', 'not a calibration file'),
        ('{"format": "hetpose-recalibration-1", "alpha": [1]}', 'damaged'),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, text, message):
    path = tmp_path / 'calibration.json'
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=message):
        Recalibration.load(path)


def test_a_file_with_impossible_numbers_is_damaged(fitted, tmp_path):
    path = tmp_path / 'calibration.json'
    fitted[0].save(path)
    values = json.loads(path.read_text())
    for bad in ([-1.0], [0.0], [1.0, 1.0]):
        path.write_text(json.dumps(values | {'alpha': bad}))
        with pytest.raises(UserError, match='damaged'):
            Recalibration.load(path)


def test_fingerprint_follows_the_weights():
    torch.manual_seed(0)
    one = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    first = weights_fingerprint(one)
    assert first == weights_fingerprint(one)
    with torch.no_grad():
        one[0].weight[0, 0] += 1e-6
    assert weights_fingerprint(one) != first
