"""Both forms take the same steps; only their cost differs."""

import pytest
import torch

from hetpose.benchmarks import suite


def test_a_gradient_that_is_not_finite_is_seen_by_the_plain_check() -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    weight.grad = torch.tensor([1.0, float('nan'), 0.0])
    with pytest.raises(FloatingPointError):
        suite.check_by_largest(optimizer)
    weight.grad = torch.ones(3)
    suite.check_by_largest(optimizer)


def test_both_forms_train_every_unit_for_the_same_steps(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(suite, 'STEPS', 14)
    trained = []
    build = suite.build_runner

    def noted(config):
        trained.append(build(config))
        return trained[-1]

    monkeypatch.setattr(suite, 'build_runner', noted)
    methods = ['mse', 'nll', 'anchored']
    costs = suite.set_seconds(tmp_path, 4, 2, 5000, methods)
    assert costs['now'] > 0
    assert costs['plain'] > 0
    units = 2 * len(methods)
    now, plain = trained[:units], trained[units:]
    assert len(plain) == len(methods), 'one trial stands for all'
    steps = sorted(runner.iter for runner in plain)
    assert steps[0] > suite.WARM_UP
    assert sorted(runner.iter for runner in now) == sorted(2 * steps)
