"""The cost plot needs dimensions and costs."""

from hetpose.apis.suites.plan import SUITES, Settings, Unit
from hetpose.apis.suites.plots.cost import draw_cost
from hetpose.apis.suites.store import Result


def test_drawn_only_with_costs(tmp_path):
    settings = Settings('multivariate', 'heldout', 1)
    without = [Result(Unit('d4', 'nll', 0), settings, 'x')]
    assert draw_cost(SUITES['multivariate'], without, tmp_path) == []
    with_cost = [Result(Unit('d4', 'nll', 0), settings, 'x', cost={'time_ms': 1, 'memory_mb': 2})]
    (path,) = draw_cost(SUITES['multivariate'], with_cost, tmp_path)
    assert path.exists()
