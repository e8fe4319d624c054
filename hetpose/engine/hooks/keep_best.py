"""Keep the weights that do best on validation data."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
from mmengine.dist import broadcast
from mmengine.hooks import Hook
from mmengine.runner import BaseLoop
from mmpose.registry import HOOKS
from torch import Tensor

from hetpose.engine.hooks.objective_switch import find_switchable
from hetpose.engine.hooks.refresh_anchor import residual_covariance
from hetpose.models.covariance import ConstantCovariance
from hetpose.models.regressors import DivergedError
from hetpose.ops.spd import NotPositiveDefiniteError
from hetpose.ops.student import predictive_nll

STATE_KEY = 'keep_best'
MEAN_PREFIX = 'mean_network.'

State = dict[str, Tensor]


@HOOKS.register_module()
class KeepBestHook(Hook):
    """End training with the mean of the lowest validation MSE and the covariance of the lowest
    NLL.

    Every method is treated alike. The NLL is that of the covariance beside the kept mean; when a
    better mean comes, the kept covariance is measured anew. A mean whose location depends on the
    covariance is kept together with it, by NLL. Phases before the last one are not kept: their
    covariance is another function of the same weights. A constant covariance is that of the
    training residuals of the kept mean. The kept weights travel in the checkpoint:
    a resumed run knows them, and a test uses them.
    """

    priority = 'BELOW_NORMAL'  # after SyncBuffersHook: every process keeps the same statistics

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def before_train(self, runner) -> None:
        if runner.epoch == 0:
            self.state = {}

    def before_train_epoch(self, runner) -> None:
        """What starts at its anchor, beside a mean that stays, may be best as it starts."""
        model = find_switchable(runner.model)
        starts = self.state.get('covariance') != type(model.covariance).__name__
        if starts and model.mean_frozen and getattr(model.covariance, 'anchored', False):
            self._measure(runner, model)

    def after_train_epoch(self, runner) -> None:
        """Measure the current weights, and keep what is better."""
        self._measure(runner, find_switchable(runner.model))

    def _measure(self, runner, model: Any) -> None:
        arrays = runner.val_dataloader.dataset.arrays
        current = _snapshot(model)
        mean, rest = _divided(current)
        model.eval()
        mse, nll = _scores(model, arrays)
        relocates = model.covariance is not None and model.covariance.relocates
        if relocates:
            self._keep_pair(mse, nll, mean, rest)
        else:
            self._keep_parts(runner, model, arrays, mse, nll)
        _load(model, current)
        model.train()

    def _keep_pair(self, mse: float, nll: float, mean: State, rest: State) -> None:
        if nll < self.state.get('nll', float('inf')):
            self.state = {'mse': mse, 'nll': nll, 'mean': mean, 'rest': rest}

    def _keep_parts(self, runner, model: Any, arrays: Any, mse: float, nll: float) -> None:
        constant = isinstance(model.covariance, ConstantCovariance)
        better = mse < self.state.get('mse', float('inf'))
        if not better and 'mean' not in self.state:
            return  # nothing could be measured yet
        if constant and better:  # a constant covariance belongs to its mean
            train = runner.train_dataloader.dataset
            model.covariance.set_anchor(residual_covariance(model, train))
            nll = _scores(model, arrays)[1]
        mean, rest = _divided(_snapshot(model))
        if constant:
            if better:
                self.state.update(mse=mse, mean=mean, nll=nll, rest=rest)
            return
        compatible = self.state.get('covariance') == type(model.covariance).__name__
        if better:
            self.state.update(mse=mse, mean=mean)
            if compatible:
                _load(model, {**mean, **self.state['rest']})
                self.state['nll'] = _scores(model, arrays)[1]
        elif model.covariance is not None:
            _load(model, {**self.state['mean'], **rest})
            nll = _scores(model, arrays)[1]
        if not compatible or nll < self.state['nll'] or model.covariance is None:
            self.state.update(nll=nll, rest=rest, covariance=type(model.covariance).__name__)

    def after_train(self, runner) -> None:
        """Leave the kept weights in the model."""
        if self.state:
            _load(find_switchable(runner.model), {**self.state['mean'], **self.state['rest']})

    def before_save_checkpoint(self, runner, checkpoint: dict) -> None:
        """Store what is kept beside the weights of the epoch."""
        checkpoint[STATE_KEY] = self.state

    def after_load_checkpoint(self, runner, checkpoint: dict) -> None:
        """Continue a run with what it kept; test a checkpoint with it."""
        self.state = checkpoint.get(STATE_KEY, {})
        if self.state and not isinstance(runner._train_loop, BaseLoop):
            checkpoint['state_dict'].update(kept_weights(checkpoint))


def kept_weights(checkpoint: dict[str, Any]) -> State:
    """The weights that a checkpoint keeps beside those of its epoch; {} if there are none."""
    state = checkpoint.get(STATE_KEY) or {}
    return {**state['mean'], **state['rest']} if state else {}


def _snapshot(model: Any) -> State:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _divided(state: State) -> tuple[State, State]:
    mean = {name: value for name, value in state.items() if name.startswith(MEAN_PREFIX)}
    return mean, {name: value for name, value in state.items() if name not in mean}


def _load(model: Any, state: State) -> None:
    model.load_state_dict(state, strict=True)


@torch.no_grad()
def _scores(model: Any, arrays: Any) -> tuple[float, float]:
    """MSE and NLL on a split; the same on every process, those of the first.

    What cannot be measured is infinitely bad: never kept, and training says itself when it breaks.
    """
    device = next(model.parameters()).device
    scores = torch.full((2,), float('inf'), device=device)
    with suppress(DivergedError, NotPositiveDefiniteError):
        predicted = model.predict(arrays.x.to(device))
        residual = arrays.y.to(device) - predicted['mean']
        scores[0] = residual.square().mean()
        if predicted['covariance'] is not None:
            nu = predicted.get('degrees_of_freedom')
            scores[1] = predictive_nll(residual, predicted['covariance'], nu).mean()
    broadcast(scores)
    mse, nll = torch.nan_to_num(scores, nan=float('inf')).tolist()
    return mse, nll
