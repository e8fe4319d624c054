"""The end of a training run that broke numerically."""

from __future__ import annotations


class DivergedError(RuntimeError):
    """Training produced a value that it cannot continue from.

    Args:
        method: the objective and the covariance parameterisation.
        step: training step, counted from 0.
        reason: what was seen.
    """

    def __init__(self, method: str, step: int, reason: str) -> None:
        super().__init__(f'{method} diverged at step {step}: {reason}')
        self.method = method
        self.step = step
        self.reason = reason
