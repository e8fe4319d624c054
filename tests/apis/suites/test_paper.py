"""The published tables are whole."""

import pytest

from hetpose.apis.suites import paper
from hetpose.apis.suites.plan import SUITES


@pytest.mark.parametrize('metric', ['mse', 'nll', 'tac'])
def test_uci_has_every_dataset_and_method(metric):
    methods = {'nll', 'kl', 'beta_nll', 'nll_diagonal', 'faithful', 'nll_tic', 'w2_bound'}
    assert {(d, m) for d, m, name in paper.uci() if name == metric} == {
        (d, m) for d in SUITES['uci'].datasets for m in methods
    }


def test_costs():
    assert paper.compute()['time_ms']['nll_tic'][32] == 1961.08
    assert paper.compute()['memory_mb'][paper.OTHERS][4] == 3.45
