"""The weights of the best validation, and the end of training."""

from types import SimpleNamespace

import pytest
import torch

from hetpose.engine.hooks import KeepLowestHook


def runner(model):
    loop = SimpleNamespace(stop_training=False)
    return SimpleNamespace(model=model, train_loop=loop)


def test_training_ends_with_the_best_weights_and_stops_when_they_no_longer_improve():
    model = torch.nn.Linear(1, 1, bias=False)
    hook, run = KeepLowestHook(patience=2), runner(model)
    for step, value in enumerate([3.0, 1.0, 2.0, 4.0]):
        assert not run.train_loop.stop_training
        model.weight.data.fill_(step)
        hook.after_val_epoch(run, {'nll': value})
    assert run.train_loop.stop_training
    hook.after_train(run)
    assert model.weight.item() == 1
    assert hook.best == 1.0


def test_patience_must_be_positive():
    with pytest.raises(ValueError, match='patience must be at least 1'):
        KeepLowestHook(patience=0)
