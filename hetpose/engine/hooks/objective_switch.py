"""Change the objective, the covariance and the learning rate at given epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmengine.hooks import Hook
from mmpose.registry import HOOKS

from hetpose.models.phase import find_switchable, require_part


@HOOKS.register_module()
class ObjectiveSwitchHook(Hook):
    """Call ``switch(objective=..., covariance=...)`` of the model when an epoch is reached.

    The hook decides only when. Which phase a model is in is recorded in the model and saved with
    its weights, so a resumed run goes on from the record. The learning rate is set when a switch
    happens in training.

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

    def before_train(self, runner) -> None:
        require_part(self, runner.model)

    def before_train_epoch(self, runner) -> None:
        """Make the switches that are due and not yet made."""
        part = find_switchable(runner.model)
        due = sum(runner.epoch >= switch['epoch'] for switch in self.switches)
        for switch in self.switches[part.phase.number : due]:
            part.switch(objective=switch.get('objective'), covariance=switch.get('covariance'))
            self._restart_optimizer(runner, switch)
            runner.logger.info(f'objective phase {part.phase.number}: {switch}')

    @staticmethod
    def _restart_optimizer(runner, switch: dict[str, Any]) -> None:
        if switch.get('reset_optimizer', True):
            optimizer = runner.optim_wrapper.optimizer
            optimizer.state.clear()
        if switch.get('lr') is not None:
            for group in runner.optim_wrapper.param_groups:
                group['lr'] = switch['lr']
