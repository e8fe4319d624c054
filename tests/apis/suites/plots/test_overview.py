"""The overview needs the baseline and another method, and shows every dataset that has both."""

import matplotlib.pyplot as plt
import pytest

from hetpose.apis.suites.plan import SUITES, Settings, Unit
from hetpose.apis.suites.plots import overview
from hetpose.apis.suites.store import Result


def result(dataset: str, method: str, nll: float, trial: int = 0) -> Result:
    settings = Settings('uci', 'heldout', 2)
    return Result(Unit(dataset, method, trial), settings, 'x', metrics={'nll': nll})


def test_points_are_differences_to_the_baseline(tmp_path, monkeypatch) -> None:
    drawn = {}

    def kept(figure, path):
        for line in figure.axes[0].lines:
            drawn[line.get_label()] = list(line.get_xdata())
        plt.close(figure)
        return path

    monkeypatch.setattr(overview, 'save', kept)
    results = [
        result('air', 'homoscedastic', 5.0), result('air', 'nll', 7.0),
        result('gas', 'homoscedastic', -1.0), result('gas', 'nll', -4.0),
        result('gas', 'homoscedastic', 90.0, 1),
        result('naval', 'nll', 0.0),
    ]  # fmt: skip
    path = tmp_path / 'overview.png'
    assert overview.draw_overview(SUITES['uci'], results, path) == path
    assert drawn['NLL'] == pytest.approx([2.0, -3.0])
    assert overview.draw_overview(SUITES['uci'], results[-1:], path) is None


@pytest.mark.parametrize(('nll', 'scale'), [(5.4, 'linear'), (900.0, 'symlog')])
def test_small_differences_have_an_ordinary_axis(tmp_path, monkeypatch, nll, scale) -> None:
    scales, ends = [], []

    def kept(figure, path):
        ax = figure.axes[0]
        scales.append(ax.get_xscale())
        ends.append(ax.transAxes.inverted().transform(ax.transData.transform((nll - 5, 0)))[0])
        plt.close(figure)
        return path

    monkeypatch.setattr(overview, 'save', kept)
    results = [
        result('air', 'homoscedastic', 5.0), result('air', 'nll', nll),
        result('gas', 'homoscedastic', 5.0), result('gas', 'nll', 4.9),
    ]  # fmt: skip
    overview.draw_overview(SUITES['uci'], results, tmp_path / 'overview.png')
    assert scales == [scale]
    assert ends[0] < 0.97, 'the outermost point is cut'
