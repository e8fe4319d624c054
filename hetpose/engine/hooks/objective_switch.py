"""Change the objective, the covariance and the learning rate at given epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.runner import BaseLoop
from mmpose.registry import HOOKS
from torch import nn

PHASE_KEY = 'objective_phase'


def find_switchable(model: nn.Module) -> Any:
    """The part of a model that has ``switch``: the model itself or its head."""
    if is_model_wrapper(model):
        model = cast(nn.Module, model.module)
    for part in (model, getattr(model, 'head', None)):
        if part is not None and hasattr(part, 'switch'):
            return part
    raise TypeError(f'{type(model).__name__} has no switch() method, nor has its head')


def switches_done(checkpoint: dict[str, Any], switches: Sequence[dict[str, Any]]) -> int:
    """How many of the switches, in order, lie behind a checkpoint.

    The run itself said so; one that did not is taken to have been saved at the end of an epoch.
    """
    said = checkpoint.get('message_hub', {}).get('runtime_info', {}).get(PHASE_KEY)
    if said is not None:
        return min(int(said), len(switches))
    epochs_done = checkpoint.get('meta', {}).get('epoch') or 0
    return sum(epochs_done - 1 >= switch['epoch'] for switch in switches)


@HOOKS.register_module()
class ObjectiveSwitchHook(Hook):
    """Call ``switch(objective=..., covariance=...)`` of the model when an epoch is reached.

    A switch is in force from its epoch on, so a run resumed past it, or a checkpoint tested, is in
    the right phase. The learning rate is set when the switch happens in training, not when it is
    restored: the optimiser's state then holds it.

    Args:
        switches: dicts with ``epoch`` (0-based: the first epoch in the new phase) and any of
            ``objective``, ``covariance`` (configs; left out or None = unchanged), ``lr`` and
            ``reset_optimizer`` (default True): Adam's moments belong to the gradients of the old
            objective; kept, the first gradients of the new one are taken far too large a step
            along, and then remembered for a thousand steps.
    """

    priority = 'VERY_HIGH'
    allowed = {'epoch', 'objective', 'covariance', 'lr', 'reset_optimizer'}

    def __init__(self, switches: Sequence[dict[str, Any]]) -> None:
        for switch in switches:
            unknown = set(switch) - self.allowed
            if unknown or 'epoch' not in switch:
                raise ValueError(
                    f'a switch needs epoch and may have {sorted(self.allowed)}, got {dict(switch)}'
                )
        self.switches = sorted(
            (dict(switch) for switch in switches), key=lambda switch: switch['epoch']
        )
        self.phase = 0

    def after_load_checkpoint(self, runner, checkpoint: dict) -> None:
        """Bring the model into the checkpoint's phase before its weights are loaded.

        Weights that only start a new run (``load_from`` without ``resume``) start in the first
        phase.
        """
        starts_training = isinstance(runner._train_loop, BaseLoop) and not runner._resume
        if not starts_training:
            self._advance(runner, switches_done(checkpoint, self.switches), set_lr=False)

    def before_train_epoch(self, runner) -> None:
        """Advance to the phase of this epoch."""
        due = sum(runner.epoch >= switch['epoch'] for switch in self.switches)
        self._advance(runner, due, set_lr=True)

    @staticmethod
    def _restart_optimizer(runner, switch: dict[str, Any]) -> None:
        if switch.get('reset_optimizer', True):
            optimizer = runner.optim_wrapper.optimizer
            optimizer.state.clear()
        if switch.get('lr') is not None:
            for group in runner.optim_wrapper.param_groups:
                group['lr'] = switch['lr']

    def _advance(self, runner, phase: int, set_lr: bool) -> None:
        while self.phase < phase:
            switch = self.switches[self.phase]
            part = find_switchable(runner.model)
            part.switch(objective=switch.get('objective'), covariance=switch.get('covariance'))
            if set_lr:
                self._restart_optimizer(runner, switch)
            self.phase += 1
            runner.logger.info(f'objective phase {self.phase}: {switch}')
        runner.message_hub.update_info(PHASE_KEY, self.phase)
