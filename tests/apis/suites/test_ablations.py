"""An ablation is compared with the method it changes, trial by trial."""

import math

import pytest
import torch

from hetpose.apis.suites.ablations import base_of, change_table, rescaled_change, section
from hetpose.apis.suites.plan import Settings, Unit, find_suite
from hetpose.apis.suites.store import DIVERGED, Result
from hetpose.evaluation.functional.regression import regression_scores
from hetpose.paths import config_root

SETTINGS = Settings('uci', 'heldout', 100)
UCI = find_suite('uci')


def result(method: str, trial: int, nll: float, dataset: str = 'energy') -> Result:
    metrics = {'mse': 0.5, 'nll': nll, 'tac': 0.1}
    return Result(Unit(dataset, method, trial), SETTINGS, 'x', metrics=metrics)


def cell(text: str, row: str) -> str:
    line = next(line for line in text.splitlines() if line.startswith(f'| {row} '))
    return line.split('|')[2].strip()


@pytest.mark.parametrize('suite', ['uci', 'bivariate'])
def test_every_packaged_ablation_names_the_method_it_changes(suite: str) -> None:
    names = [path.stem for path in (config_root() / suite / 'ablations').glob('*.py')]
    methods = find_suite(suite).methods
    assert names
    assert {base_of(name) for name in names} <= set(methods)
    assert not any(base_of(method) for method in methods)


def test_only_trials_that_both_have_are_compared() -> None:
    results = [result('w2', t, nll) for t, nll in enumerate((1.0, 2.0, 50.0))]
    results += [result('w2-other', 0, 0.5), result('w2-other', 1, 3.0)]
    assert cell(change_table(UCI, results, 'nll'), 'w2-other') == '+0.250'
    assert '### Change of NLL' in section(results)


def test_a_divergence_is_told() -> None:
    broken = Result(Unit('energy', 'w2-other', 0), SETTINGS, 'x', status=DIVERGED)
    assert cell(change_table(UCI, [result('w2', 0, 1.0), broken], 'nll'), 'w2-other') == 'diverged'


@pytest.mark.parametrize('dim', [1, 4])
def test_the_closed_form_is_the_likelihood_of_a_scaled_covariance(dim: int) -> None:
    """Scaling Σ by the factor of the middle part gives the predicted NLL on the test part."""
    generator = torch.Generator().manual_seed(dim)
    kept, test = torch.randn(2, 50, dim, dtype=torch.float64, generator=generator)
    covariance = 0.3 * torch.eye(dim, dtype=torch.float64).expand(50, dim, dim)

    def scores(target: torch.Tensor, factor: float) -> dict[str, float]:
        found = regression_scores(target, torch.zeros_like(target), factor * covariance)
        return {name: float(value.mean()) for name, value in found.items()}

    stored = result('w2', 0, 0.0)
    stored.validation, stored.metrics = scores(kept, 1.0), scores(test, 1.0)
    factor = stored.validation['mahalanobis']
    expected = scores(test, factor)['nll'] - scores(test, 1.0)['nll']
    change = rescaled_change(stored)
    assert change is not None
    assert math.isclose(dim * change, expected, rel_tol=1e-9)
    best = scores(kept, factor)['nll']
    assert best <= min(scores(kept, factor * other)['nll'] for other in (0.9, 1.1))
