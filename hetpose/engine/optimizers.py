"""One parameter group for the mean network, one for the covariance network."""

from __future__ import annotations

from typing import Any

from mmengine.model import is_model_wrapper
from mmengine.optim import OptimWrapper
from mmpose.registry import OPTIM_WRAPPER_CONSTRUCTORS, OPTIM_WRAPPERS, OPTIMIZERS
from torch import nn
from torch.optim import Optimizer

from hetpose.engine.hooks.plateau import COVARIANCE, MEAN


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class TwoNetworkConstructor:
    """Groups named 'mean' and 'covariance', each with its own learning rate from there on.

    Args:
        optim_wrapper_cfg: config of the wrapper with its ``optimizer``.
        paramwise_cfg: not supported; must be None.
    """

    def __init__(self, optim_wrapper_cfg: dict, paramwise_cfg: dict | None = None) -> None:
        if paramwise_cfg is not None:
            raise ValueError('TwoNetworkConstructor takes no paramwise_cfg')
        self.config = dict(optim_wrapper_cfg)

    def __call__(self, model: nn.Module) -> OptimWrapper:
        regressor: Any = model.module if is_model_wrapper(model) else model
        config = dict(self.config)
        groups = [
            {'name': MEAN, 'params': list(regressor.mean_network.parameters())},
            {'name': COVARIANCE, 'params': list(regressor.covariance_network.parameters())},
        ]
        optimizer = build_fused(dict(config.pop('optimizer'), params=groups))
        config.setdefault('type', 'OptimWrapper')
        return OPTIM_WRAPPERS.build(config, default_args={'optimizer': optimizer})


def build_fused(config: dict[str, Any]) -> Optimizer:
    """The optimizer of a config, updating all its parameters in one kernel where torch has one.

    The networks of the suites are so small that a step is mostly the optimizer's own overhead.
    A config that sets ``fused`` itself is obeyed; torch before 2.4 has no such kernel for the CPU.
    """
    if 'fused' in config or config['type'] not in ('Adam', 'AdamW'):
        return OPTIMIZERS.build(config)
    try:
        return OPTIMIZERS.build(dict(config, fused=True))
    except RuntimeError:
        return OPTIMIZERS.build(config)
