"""Keep the weights that do best on validation data: the hook, and a policy for each covariance.

A policy gets the weights of an epoch in the model and what was kept so far, and returns what is
kept now. Keys of what is kept: mse, mean (weights of the mean network), nll, rest (all other
weights), covariance (the parameterisation's name); nll, rest and covariance are absent until Σ
could be measured.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from mmengine.dist import broadcast
from mmengine.hooks import Hook
from mmengine.runner import BaseLoop
from mmpose.registry import HOOKS
from torch import Tensor

from hetpose.engine.hooks.refresh_anchor import residual_covariance
from hetpose.models.covariance import ConstantCovariance
from hetpose.models.phase import find_switchable, require_part
from hetpose.models.regressors import DivergedError
from hetpose.ops.spd import NotPositiveDefiniteError
from hetpose.ops.student import predictive_nll

STATE_KEY = 'keep_best'
MEAN_PREFIX = 'mean_network.'
INFINITE = float('inf')

State = dict[str, Tensor]
Kept = dict[str, Any]


@HOOKS.register_module()
class KeepBestHook(Hook):
    """End training with the weights that did best on validation data, whatever the method.

    That is the mean of the lowest MSE and the covariance of the lowest NLL; ``choose_policy``
    tells the cases apart. The kept weights travel in the checkpoint: a resumed run knows them, and
    a test uses them.
    """

    priority = 'BELOW_NORMAL'  # after SyncBuffersHook: every process keeps the same statistics

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def before_train(self, runner) -> None:
        require_part(self, runner.model, 'mean_network')
        if runner.epoch == 0:
            self.state = {}

    def before_train_epoch(self, runner) -> None:
        """Measure an anchored covariance before it trains: with a fixed mean that may be best."""
        model = find_switchable(runner.model)
        starts = self.state.get('covariance') != type(model.covariance).__name__
        if starts and model.mean_frozen and getattr(model.covariance, 'anchored', False):
            self._measure(runner, model)

    def after_train_epoch(self, runner) -> None:
        """Measure the current weights, and keep what is better."""
        self._measure(runner, find_switchable(runner.model))

    def _measure(self, runner, model: Any) -> None:
        current = snapshot(model)
        model.eval()
        arrays, train = runner.val_dataloader.dataset.arrays, runner.train_dataloader.dataset
        policy = choose_policy(model.covariance)
        self.state = policy(self.state, Candidate(model, arrays, train))
        load(model, current)
        model.train()

    def after_train(self, runner) -> None:
        """Leave the kept weights in the model."""
        if self.state:
            load(find_switchable(runner.model), _weights(self.state))

    def before_save_checkpoint(self, runner, checkpoint: dict) -> None:
        """Store the kept weights in addition to those of the epoch."""
        checkpoint[STATE_KEY] = self.state

    def after_load_checkpoint(self, runner, checkpoint: dict) -> None:
        """Continue a run with what it kept; test a checkpoint with it."""
        self.state = checkpoint.get(STATE_KEY, {})
        if self.state and not isinstance(runner._train_loop, BaseLoop):
            checkpoint['state_dict'].update(kept_weights(checkpoint))


def kept_weights(checkpoint: dict[str, Any]) -> State:
    """The best weights in a checkpoint, next to those of its epoch; {} if there are none."""
    return _weights(checkpoint.get(STATE_KEY) or {})


def _weights(state: dict[str, Any]) -> State:
    return {**state.get('mean', {}), **state.get('rest', {})}


class Candidate:
    """The weights of an epoch in a regressor, and how good they are on validation data.

    Args:
        model: the regressor, in eval mode.
        arrays: validation data.
        train: the training data set.
    """

    def __init__(self, model: Any, arrays: Any, train: Any) -> None:
        self.model, self.arrays, self.train = model, arrays, train
        self.mean, self.rest = divided(snapshot(model))
        self.mse, self.nll = scores(model, arrays)

    def nll_of(self, mean: State, rest: State) -> float:
        """The NLL of a covariance with another mean."""
        load(self.model, {**mean, **rest})
        return scores(self.model, self.arrays)[1]

    @property
    def kind(self) -> str:
        """The name of the parameterisation."""
        return type(self.model.covariance).__name__


def choose_policy(covariance: Any) -> Callable[[Kept, Candidate], Kept]:
    """The policy for a parameterisation, or None for a mean alone."""
    if covariance is None:
        return keep_mean
    if covariance.relocates:
        return keep_pair
    return keep_constant if isinstance(covariance, ConstantCovariance) else keep_parts


def keep_mean(kept: Kept, candidate: Candidate) -> Kept:
    """The mean of the lowest MSE; there is no covariance to choose."""
    if candidate.mse < kept.get('mse', INFINITE):
        kept = dict(kept, mse=candidate.mse, mean=candidate.mean)
    return dict(kept, nll=INFINITE, rest=candidate.rest, covariance=candidate.kind) if kept else {}


def keep_pair(kept: Kept, candidate: Candidate) -> Kept:
    """Mean and covariance of the lowest NLL, where one depends on the other."""
    if not candidate.nll < kept.get('nll', INFINITE):
        return kept
    return dict(mse=candidate.mse, nll=candidate.nll, mean=candidate.mean, rest=candidate.rest)


def keep_constant(kept: Kept, candidate: Candidate) -> Kept:
    """The mean of the lowest MSE, with the covariance of its own training residuals."""
    if not candidate.mse < kept.get('mse', INFINITE):
        return kept
    model = candidate.model
    model.covariance.set_anchor(residual_covariance(model, candidate.train))
    mean, rest = divided(snapshot(model))
    nll = scores(model, candidate.arrays)[1]
    return dict(kept, mse=candidate.mse, mean=mean, nll=nll, rest=rest)


def keep_parts(kept: Kept, candidate: Candidate) -> Kept:
    """The mean of the lowest MSE, and the covariance of the lowest NLL with that mean.

    When a better mean comes, the kept covariance is measured with it. That of an earlier phase
    is another function of the same weights, and is not compared.
    """
    better = candidate.mse < kept.get('mse', INFINITE)
    if not better and 'mean' not in kept:
        return kept  # nothing could be measured yet
    mean = candidate.mean if better else kept['mean']
    mse = candidate.mse if better else kept['mse']
    last: Kept = {name: kept[name] for name in ('nll', 'rest', 'covariance') if name in kept}
    if last.get('covariance') != candidate.kind:
        last = {}
    if better and last:
        last['nll'] = candidate.nll_of(mean, last['rest'])
    nll = candidate.nll if better else candidate.nll_of(mean, candidate.rest)
    if nll < last.get('nll', INFINITE):
        last = dict(nll=nll, rest=candidate.rest, covariance=candidate.kind)
    return dict(mse=mse, mean=mean, **last)


def snapshot(model: Any) -> State:
    """A copy of all weights."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def divided(state: State) -> tuple[State, State]:
    """The weights of the mean network, and all others."""
    mean = {name: value for name, value in state.items() if name.startswith(MEAN_PREFIX)}
    return mean, {name: value for name, value in state.items() if name not in mean}


def load(model: Any, state: State) -> None:
    """Put weights into a model; a covariance that was never kept stays that of the model."""
    model.load_state_dict({**model.state_dict(), **state}, strict=True)


@torch.no_grad()
def scores(model: Any, arrays: Any) -> tuple[float, float]:
    """MSE and NLL on a split; the same on every process, those of the first.

    What cannot be measured is infinitely bad: it is never kept.
    """
    device = next(model.parameters()).device
    measured = torch.full((2,), INFINITE, device=device)
    with suppress(DivergedError, NotPositiveDefiniteError):
        predicted = model.predict(arrays.x.to(device))
        residual = arrays.y.to(device) - predicted['mean']
        measured[0] = residual.square().mean()
        if predicted['covariance'] is not None:
            nu = predicted.get('degrees_of_freedom')
            measured[1] = predictive_nll(residual, predicted['covariance'], nu).mean()
    broadcast(measured)
    mse, nll = torch.nan_to_num(measured, nan=INFINITE, posinf=INFINITE).tolist()
    return mse, nll
