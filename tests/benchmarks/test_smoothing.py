"""The rivals are what they are called, and the order is right already on a few short films."""

import numpy as np

from hetpose.benchmarks import smoothing


def test_one_euro_without_a_slope_is_a_low_pass() -> None:
    """A step is approached geometrically, by 1 / (1 + fps / 2πf) of what is left."""
    labels = np.concatenate([np.zeros((1, 2, 2)), np.ones((9, 2, 2))])
    found = smoothing.one_euro(labels, fps=25, cutoff=2.0, slope=0.0)
    weight = 1 / (1 + 25 / (2 * np.pi * 2.0))
    np.testing.assert_allclose(found[:, 0, 0], 1 - (1 - weight) ** np.arange(10))
    quicker = smoothing.one_euro(labels, fps=25, cutoff=2.0, slope=1.0)
    assert (quicker[1:-1] > found[1:-1]).all()


def test_the_covariance_of_the_frame_wins_on_occluded_joints() -> None:
    rows = smoothing.judge(persistence=0.0, count=2, frames=30)
    assert [row.passed for row in rows if row.required] == [True, True]
    errors = {row.name.partition(' (')[0]: row.metrics['occluded'] for row in rows}
    assert errors['smoother, Σ of the frame'] < errors['filter, Σ of the frame'] < errors['raw']
