"""A fit without a deviation is drawn as a mean alone."""

import numpy as np

from hetpose.apis.suites.plan import SUITES, Settings, Unit
from hetpose.apis.suites.plots.sinusoid import draw_sinusoids
from hetpose.apis.suites.store import Result


def test_mean_alone(tmp_path):
    x = np.linspace(-5, 5, 20).tolist()
    fit = {'x': x, 'mean': x, 'std': None, 'true_mean': x, 'true_std': np.abs(x).tolist()}
    unit = Unit('shrinking', 'mse', 0)
    result = Result(unit, Settings('univariate', 'heldout', 1), 'x', extra={'fit': fit})
    (path,) = draw_sinusoids(SUITES['univariate'], [result], tmp_path)
    assert path.name == 'fit_shrinking.png'
