"""Keep the metrics of every evaluation, for curves."""

from __future__ import annotations

from mmengine.hooks import Hook
from mmpose.registry import HOOKS


@HOOKS.register_module()
class CurveHook(Hook):
    """Collect {'epoch': epochs done, metric: value, ...} after every validation in ``points``."""

    def __init__(self) -> None:
        self.points: list[dict[str, float]] = []

    def after_val_epoch(self, runner, metrics: dict[str, float] | None = None) -> None:
        values = {name.rsplit('/', 1)[-1]: float(value) for name, value in (metrics or {}).items()}
        self.points.append({'epoch': runner.epoch, **values})
