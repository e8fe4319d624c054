"""Train the covariance while the mean no longer moves."""

from __future__ import annotations

from mmengine.hooks import Hook
from mmpose.registry import HOOKS

from hetpose.engine.hooks.keep_best import KeepBestHook
from hetpose.engine.hooks.refresh_anchor import residual_covariance
from hetpose.models.phase import find_switchable, require_part


@HOOKS.register_module()
class FreezeMeanHook(Hook):
    """From an epoch on, hold the mean network fixed, in eval mode.

    It is held at the weights that KeepBestHook kept, if there is one. An anchored covariance then
    starts from the covariance of the training residuals.

    Args:
        epoch: the first epoch (0-based) with a fixed mean.
    """

    priority = 'HIGH'

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def before_train(self, runner) -> None:
        require_part(self, runner.model, 'freeze_mean')

    def before_train_epoch(self, runner) -> None:
        """Freeze, also in a run that was resumed past the epoch."""
        model = find_switchable(runner.model)
        if runner.epoch < self.epoch or model.mean_frozen:
            return
        for hook in runner.hooks:
            if isinstance(hook, KeepBestHook) and hook.state:
                model.load_state_dict(hook.state['mean'], strict=False)
        model.freeze_mean()
        anchor = None if model.covariance is None else model.covariance.residual_anchor
        if runner.epoch == self.epoch and anchor is not None:
            dataset = runner.train_dataloader.dataset
            anchor.set_anchor(residual_covariance(model, dataset))
