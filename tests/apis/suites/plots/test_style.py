"""Every method has a name and a line of its own."""

from hetpose.apis.suites.plan import SUITES
from hetpose.apis.suites.plots.style import LABELS, LINES, METRIC_LABELS, grid, plain_log_ticks


def test_methods_and_metrics_are_covered_and_lines_differ():
    methods = {method for suite in SUITES.values() for method in suite.methods}
    assert methods <= set(LABELS)
    assert methods <= set(LINES)
    assert len({str(LINES[method]) for method in methods}) == len(methods)
    assert {metric for suite in SUITES.values() for metric in suite.metrics} <= set(METRIC_LABELS)


def test_logarithmic_ticks_are_plain_numbers():
    _, axes = grid(1, 1, 3, 3)
    axes[0, 0].set_yscale('log')
    axes[0, 0].set_ylim(0.3, 4)
    plain_log_ticks(axes[0, 0])
    assert axes[0, 0].yaxis.get_major_formatter()(0.5) == '0.5'
