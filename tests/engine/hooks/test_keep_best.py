"""Weights that could not be measured are never kept; see also test_hooks."""

from types import SimpleNamespace

import pytest
import torch
from mmpose.registry import MODELS

from hetpose.engine.hooks.keep_best import (
    Candidate,
    KeepBestHook,
    choose_policy,
    keep_constant,
    keep_mean,
    keep_pair,
    keep_parts,
    scores,
)

ARRAYS = SimpleNamespace(x=torch.randn(20, 2), y=torch.randn(20, 3))


def regressor(covariance: str | None = 'FactorCovariance', **changes):
    return MODELS.build(
        dict(
            type='HeteroscedasticRegressor',
            in_dim=2,
            out_dim=3,
            objective=dict(type='NLLObjective' if covariance else 'MSEObjective'),
            covariance=None if covariance is None else dict(type=covariance),
            network=dict(type='ResidualMLP', blocks=1),
            **changes,
        )
    ).eval()


def broken(part: str):
    """A regressor one of whose networks gives nothing that can be measured."""
    model = regressor()
    last = list(getattr(model, part).children())[-1]
    torch.nn.init.constant_(last.bias, float('nan'))
    return model


def test_what_cannot_be_measured_is_infinite() -> None:
    assert scores(broken('mean_network'), ARRAYS) == (float('inf'), float('inf'))
    model = regressor()
    last = list(model.mean_network.children())[-1]
    torch.nn.init.constant_(last.bias, 1e25)  # its square is infinite, not the largest number
    assert scores(model, ARRAYS)[0] == float('inf')


def test_an_epoch_that_cannot_be_measured_is_not_kept() -> None:
    kept = keep_parts({}, Candidate(broken('mean_network'), ARRAYS, None))
    assert kept == {}
    good = regressor()
    kept = keep_parts(kept, Candidate(good, ARRAYS, None))
    assert kept['covariance'] == 'FactorCovariance'
    again = keep_parts(kept, Candidate(broken('mean_network'), ARRAYS, None))
    assert again['mse'] == kept['mse']
    assert again['rest'] is kept['rest']


def test_a_covariance_that_cannot_be_measured_is_not_kept_with_a_good_mean() -> None:
    model = broken('covariance_network')
    hook = KeepBestHook()
    candidate = Candidate(model, ARRAYS, None)
    candidate.mse, candidate.nll = 1.0, float('inf')
    hook.state = keep_parts({}, candidate)
    assert set(hook.state) == {'mse', 'mean'}
    hook.after_train(SimpleNamespace(model=regressor()))  # the covariance stays as it is


def test_a_covariance_of_an_earlier_phase_is_not_compared() -> None:
    first = keep_parts({}, Candidate(regressor('CholeskyCovariance'), ARRAYS, None))
    first['nll'] = -1e9
    second = keep_parts(first, Candidate(regressor('FactorCovariance'), ARRAYS, None))
    assert second['covariance'] == 'FactorCovariance'


@pytest.mark.parametrize(
    ('covariance', 'policy'),
    [
        (None, keep_mean),
        ('ConstantCovariance', keep_constant),
        ('AnchoredCovariance', keep_parts),
        ('FactorCovariance', keep_parts),
    ],
)
def test_a_policy_for_each_kind(covariance, policy) -> None:
    built = None if covariance is None else MODELS.build(dict(type=covariance))
    assert choose_policy(built) is policy
    assert choose_policy(MODELS.build(dict(type='NaturalCovariance'))) is keep_pair
