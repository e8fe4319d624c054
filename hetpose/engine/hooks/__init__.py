"""Runner hooks."""

from hetpose.engine.hooks.checkpoint import SafeCheckpointHook
from hetpose.engine.hooks.cost import CostHook, ShortHistoryHook
from hetpose.engine.hooks.curve import CurveHook
from hetpose.engine.hooks.finite_guard import FiniteGuardHook
from hetpose.engine.hooks.freeze_mean import FreezeMeanHook
from hetpose.engine.hooks.freeze_wrapped import FreezeEstimateHook, FreezeWrappedHook
from hetpose.engine.hooks.keep_best import KeepBestHook
from hetpose.engine.hooks.keep_lowest import KeepLowestHook
from hetpose.engine.hooks.objective_switch import ObjectiveSwitchHook
from hetpose.engine.hooks.plateau import TrainingLossPlateauHook
from hetpose.engine.hooks.refresh_anchor import RefreshAnchorHook
from hetpose.engine.hooks.show import ShowPoseHook
from hetpose.engine.hooks.trajectory import TrajectoryHook

__all__ = [
    'CostHook',
    'CurveHook',
    'FreezeEstimateHook',
    'FiniteGuardHook',
    'FreezeMeanHook',
    'FreezeWrappedHook',
    'KeepBestHook',
    'KeepLowestHook',
    'ObjectiveSwitchHook',
    'RefreshAnchorHook',
    'SafeCheckpointHook',
    'ShortHistoryHook',
    'ShowPoseHook',
    'TrainingLossPlateauHook',
    'TrajectoryHook',
]
