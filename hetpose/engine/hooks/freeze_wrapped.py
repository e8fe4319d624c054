"""Leave a model that PosthocCovarianceHead wraps as it is."""

from __future__ import annotations

from typing import Any

from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmpose.registry import HOOKS
from torch import nn


@HOOKS.register_module()
class FreezeWrappedHook(Hook):
    """Train the error model of a head only: the rest stays in evaluation mode, without gradient.

    Batch norm then keeps its statistics and dropout drops nothing, so that the errors are those of
    predictions.
    """

    priority = 'VERY_HIGH'

    part, owner = 'errors', 'PosthocCovarianceHead'  # of the head, what is trained

    def before_train(self, runner) -> None:
        model = _unwrapped(runner.model)
        if not hasattr(getattr(model, 'head', None), self.part):
            raise TypeError(
                f'{type(self).__name__} needs a pose estimator with {self.owner}, not '
                f'{type(model).__name__} with {type(getattr(model, "head", None)).__name__}'
            )
        model.requires_grad_(False)
        getattr(model.head, self.part).requires_grad_(True)

    def before_train_iter(self, runner, batch_idx: int, data_batch: Any = None) -> None:
        """The Runner puts the whole model into training mode at the start of every epoch."""
        model = _unwrapped(runner.model)
        if model.training:
            model.eval()
            getattr(model.head, self.part).train()
            model.head.objective.train()  # RefreshAnchorHook watches it train


@HOOKS.register_module()
class FreezeEstimateHook(FreezeWrappedHook):
    """Keep a HeteroscedasticHead's mean and all before it as they are; train its covariance."""

    part, owner = 'covariance_branch', 'HeteroscedasticHead'


def _unwrapped(model: nn.Module) -> Any:
    return model.module if is_model_wrapper(model) else model
