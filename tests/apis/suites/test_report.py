"""The report shows means, ties, losers, divergences and the published numbers."""

import json

import numpy as np
import pytest
from PIL import Image, ImageSequence

from hetpose.apis.suites import paper
from hetpose.apis.suites.plan import Settings, Unit
from hetpose.apis.suites.plots import bivariate, convergence, cost, sinusoid
from hetpose.apis.suites.report import build_report
from hetpose.apis.suites.store import DIVERGED, Result, save


def write(folder, suite, protocol, values, dataset, **kwargs):
    """Store one unit per method and trial; ``values[method]`` lists the NLL of its trials."""
    settings = Settings(suite, protocol, 2)
    for method, series in values.items():
        for trial, nll in enumerate(series):
            unit = Unit(dataset, method, trial)
            if nll is None:
                why = {'step': 7, 'epoch': 1, 'reason': 'loss is nan'}
                save(folder, Result(unit, settings, 'x', DIVERGED, divergence=why))
                continue
            metrics = {'mse': nll + 1, 'nll': nll}
            curve = [{'epoch': e, 'mse': nll + 2 - e, 'nll': nll + 2 - e} for e in (1, 2)]
            cost = {'time_ms': 2.0, 'memory_mb': 8.0}
            save(
                folder,
                Result(unit, settings, 'x', metrics=metrics, curve=curve, cost=cost, **kwargs),
            )


def test_uci_table(tmp_path):
    values = {
        'homoscedastic': [2.0, 2.1, 2.2],
        'anchored': [1.0, 1.1, 1.3],
        'nll': [3.0, None, 3.1],
        'w2_bound': [2.5, 2.4, 2.6],
    }
    write(tmp_path, 'uci', 'heldout', values, 'concrete')
    text = build_report(tmp_path)
    rows = {
        line.split('|')[1].strip(): line for line in text.splitlines() if line.startswith('| ')
    }
    assert '**1.133 ± 0.153**' in rows['anchored']
    assert '▽' not in rows['homoscedastic']
    assert {'nll ▽', 'w2_bound ▽'} <= set(rows)
    assert '(1 of 3 diverged)' in rows['nll ▽']
    assert '0.72 ± 0.08' in rows['w2_bound ▽']  # the published MSE
    assert 'nll, trial 1: diverged at step 7 (epoch 1): loss is nan' in text
    assert '![convergence_concrete](plots/convergence_concrete.png)' in text
    assert '"paper" is the published value' in text
    report = json.loads((tmp_path / 'report.json').read_text())
    assert report['not_better_than_homoscedastic'] == {'concrete': ['nll', 'w2_bound']}
    entry = next(e for e in report['results'] if (e['method'], e['metric']) == ('w2_bound', 'nll'))
    assert entry['paper'] == {'mean': 8.96, 'std': 0.29}


def test_a_method_with_fewer_trials_says_so_and_is_not_judged(tmp_path):
    values = {'homoscedastic': [2.0, 2.1, 2.2], 'anchored': [1.0, 1.1, 1.3], 'nll': [0.5]}
    write(tmp_path, 'uci', 'heldout', values, 'concrete')
    text = build_report(tmp_path)
    assert '| nll ' in text
    assert '0.500 (1 of 3 trials)' in text
    assert '**1.133 ± 0.153**' in text
    write(tmp_path, 'uci', 'heldout', {'nll': [7.0]}, 'concrete')
    assert 'nll ▽' not in build_report(tmp_path)


def test_paper_protocol_marks_no_losers(tmp_path):
    write(tmp_path, 'uci', 'paper', {'homoscedastic': [1.0], 'nll': [2.0]}, 'air')
    assert '▽' not in build_report(tmp_path)


def test_a_table_of_ones_own(tmp_path):
    """It has no published values; its name may hold spaces, which end a link in Markdown."""
    write(tmp_path, 'uci', 'heldout', {'homoscedastic': [2.0], 'nll': [1.0]}, 'my table')
    text = build_report(tmp_path)
    assert 'paper' not in text
    assert '▽' not in text
    assert '![convergence_my table](plots/convergence_my%20table.png)' in text


@pytest.fixture
def drawn(monkeypatch):
    """The figures that a report saves, by file name."""
    figures = {}

    def save(figure, path):
        figures[path.name] = figure
        return path

    for module in (bivariate, convergence, cost, sinusoid):
        monkeypatch.setattr(module, 'save', save)
    return figures


def lines_of(axes):
    """(x, y) of every curve of a panel, rounded."""
    return [tuple(map(tuple, np.round(line.get_xydata(), 6))) for line in axes.get_lines()]


def test_cost_plot_shows_our_costs_beside_the_paper(tmp_path, drawn):
    for dim in (4, 8):
        write(tmp_path, 'multivariate', 'heldout', {'homoscedastic': [1.0]}, f'd{dim}')
    build_report(tmp_path)
    time, memory = drawn['cost.png'].axes
    assert ((4, 2), (8, 2)) in lines_of(time)
    assert ((4, 8), (8, 8)) in lines_of(memory)
    published = paper.compute()['time_ms']['nll_tic']
    assert tuple((d, round(ms, 6)) for d, ms in published.items()) in lines_of(time)


def test_sinusoid_plot_shows_the_fit(tmp_path, drawn):
    x = np.linspace(-5, 5, 50)
    fit = {'x': x, 'mean': 2 * x, 'std': abs(x), 'true_mean': x, 'true_std': abs(x)}
    extra = {'fit': {key: value.tolist() for key, value in fit.items()}}
    write(tmp_path, 'univariate', 'heldout', {'mse': [1.0], 'nll': [1.0]}, 'growing', extra=extra)
    build_report(tmp_path)
    mean = tuple(map(tuple, np.round(np.column_stack([x, 2 * x]), 6)))
    panels = [axes for axes in drawn['fit_growing.png'].axes if mean in lines_of(axes)]
    assert len(panels) == 2, 'a panel for every method'


def test_ellipse_still_and_animation(tmp_path):
    path = {
        'step': list(range(30)),
        'mean': [[0.1 * i, 0.0] for i in range(30)],
        'covariance': [[[1.0, 0.0], [0.0, 1.0 + 0.1 * i]] for i in range(30)],
    }
    extra = {'trajectory': path, 'target': {'mean': [3, 0], 'covariance': [[1, 0.5], [0.5, 2]]}}
    write(tmp_path, 'bivariate', 'paper', {'nll': [1.0], 'w2': [1.0]}, 'far', extra=extra)
    build_report(tmp_path)
    with Image.open(tmp_path / 'plots' / 'ellipses_far.gif') as animation:
        # Some versions of Pillow join equal frames into a longer one: the duration counts.
        durations = [frame.info['duration'] for frame in ImageSequence.Iterator(animation)]
        assert len(durations) >= 30
        assert sum(durations) > 1.2 * 30 * durations[0], 'the last frame is held'
        animation.seek(0)
        first = np.asarray(animation.convert('RGB'))
        animation.seek(29)
        assert (np.asarray(animation.convert('RGB')) != first).any()


def test_ellipses_of_a_warm_up_begin_without_a_covariance(tmp_path):
    nothing, something = [[float('nan')] * 2] * 2, [[1.0, 0.0], [0.0, 1.0]]
    path = {
        'step': [0, 1, 2],
        'mean': [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]],
        'covariance': [nothing, nothing, something],
    }
    extra = {'trajectory': path, 'target': {'mean': [3, 0], 'covariance': [[1, 0.5], [0.5, 2]]}}
    write(tmp_path, 'bivariate', 'paper', {'nll': [1.0]}, 'far', extra=extra)
    assert 'ellipses_far.gif' in build_report(tmp_path)


def test_a_method_without_warm_up_is_named(tmp_path):
    for warm_up in (False, True):
        folder = tmp_path / str(warm_up)
        for method in ('nll', 'natural'):
            result = Result(
                Unit('growing', method, 0), Settings('univariate', 'heldout', 2, warm_up), 'x'
            )
            result.metrics = {'mse': 1.0, 'nll': 1.0}
            save(folder, result)
        assert ('natural has no mean without its covariance' in build_report(folder)) == warm_up


def test_units_of_another_configuration_are_left_out_and_named(tmp_path):
    settings = Settings('uci', 'heldout', 2)
    for trial, (digest, nll) in enumerate([('old', 10.0), ('old', 10.0), ('new', 0.0)]):
        unit = Unit('concrete', 'nll', trial)
        save(tmp_path, Result(unit, settings, digest, metrics={'mse': 1.0, 'nll': nll}))
    said = 'left out: nll: 2 units of another configuration.'
    for text in (build_report(tmp_path, {('concrete', 'nll'): 'new'}), build_report(tmp_path)):
        assert said in text
        assert '0.000' in text
        assert '10.000' not in text
    assert 'left out: nll: 1 units' in build_report(tmp_path, {('concrete', 'nll'): 'old'})
