"""Decide what of a checkpoint goes into the model of a Runner."""

from __future__ import annotations

from mmengine.hooks import Hook
from mmengine.runner import BaseLoop
from mmpose.registry import HOOKS

from hetpose.engine.checkpoint import weights_of
from hetpose.engine.phases import enter_phase, start_weights
from hetpose.engine.resume import IDENTITY, identity


@HOOKS.register_module()
class StartHook(Hook):
    """Load a checkpoint as the run needs it; ``launch.build_runner`` adds this hook.

    A run that is resumed and a test enter the phase in which the checkpoint was saved. A run that
    only starts from its weights (``load_from`` without ``resume``) stays in its config's phase.
    """

    priority = 'LOWEST'  # after hooks that put other weights into the checkpoint

    def before_save_checkpoint(self, runner, checkpoint: dict) -> None:
        """Store what tells the run from others."""
        checkpoint['meta'][IDENTITY] = identity(runner.cfg)

    def after_load_checkpoint(self, runner, checkpoint: dict) -> None:
        """Prepare the model and the weights; mmengine loads them next."""
        # mmengine would run a config that it finds here as a program.
        checkpoint.get('meta', {}).pop('config', None)
        if 'state_dict' not in checkpoint:
            return
        checkpoint['state_dict'] = weights_of(checkpoint)
        starts_training = isinstance(runner._train_loop, BaseLoop) and not runner._resume
        if starts_training:
            checkpoint['state_dict'] = start_weights(runner.model, checkpoint['state_dict'])
        else:
            enter_phase(runner.model, runner.cfg, checkpoint)
