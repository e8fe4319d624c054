"""Curves with gaps, broken runs and single points are drawn."""

from hetpose.apis.suites.plan import SUITES, Settings, Unit
from hetpose.apis.suites.plots.convergence import draw_convergence
from hetpose.apis.suites.store import Result


def test_one_figure_per_dataset(tmp_path):
    settings = Settings('uci', 'heldout', 2)
    curves = {
        'mse': [{'epoch': 1, 'mse': 1.0}],
        'nll': [{'epoch': 1, 'mse': 2.0, 'nll': None}, {'epoch': 2, 'mse': 1e9, 'nll': 3.0}],
        'kl': [],
    }
    results = [
        Result(Unit('air', method, 0), settings, 'x', curve=curve)
        for method, curve in curves.items()
    ]
    paths = draw_convergence(SUITES['uci'], results, tmp_path)
    assert [path.name for path in paths] == ['convergence_air.png']
    assert paths[0].stat().st_size > 0
