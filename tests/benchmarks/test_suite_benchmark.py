"""Both forms take the same steps: their weights are equal, only their cost differs."""

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


def test_the_forms_of_a_step_are_measured_over_the_same_training(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(suite, 'STEPS', 14)
    trained = []
    monkeypatch.setattr(
        suite.StepTimes,
        'after_train',
        lambda self, runner: trained.append((runner.iter, runner.model.state_dict())),
        raising=False,
    )
    for plain in (False, True):
        assert suite.step_seconds(tmp_path, 4, 'nll', plain, steps=5000) > 0
    (steps, weights), (again, others) = trained
    assert steps == again >= suite.WARM_UP
    for name, value in weights.items():
        assert torch.equal(value, others[name]), name
