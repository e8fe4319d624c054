"""Keep the weights that do best on validation data."""

from __future__ import annotations

from typing import Any

from mmengine.hooks import Hook
from mmengine.runner import BaseLoop
from mmpose.registry import HOOKS

from hetpose.engine.hooks.keep_policies import Candidate, State, choose_policy, load, snapshot
from hetpose.engine.hooks.objective_switch import find_switchable, require_part

STATE_KEY = 'keep_best'


@HOOKS.register_module()
class KeepBestHook(Hook):
    """End training with the weights that did best on validation data, whatever the method.

    That is the mean of the lowest MSE and the covariance of the lowest NLL; ``keep_policies``
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
