"""Train several Runners step by step together, so that their models share kernels.

Each Runner keeps its own data, hooks, optimiser and validation. Only the step itself is common.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from mmengine.config import Config
from mmengine.registry import LOOPS
from mmengine.runner import EpochBasedTrainLoop, Runner
from torch import nn

from hetpose.engine.hooks.finite_guard import NUMERICAL, FiniteGuardHook
from hetpose.models.regressors.stack import Outcome, RegressorStack, stackable

Steps = Generator['Step', Any, None]


@dataclass
class Step:
    """A batch of an epoch, and whether it is the first or the last."""

    batch: Any
    first: bool
    last: bool


@LOOPS.register_module()
class LockstepLoop(EpochBasedTrainLoop):
    """The loop of epochs, cut at the training step: ``train_together`` makes the steps.

    ``Runner.train`` only prepares a Runner with this loop.
    """

    def run(self) -> nn.Module:
        return self.runner.model

    def steps(self) -> Steps:
        """Do all that EpochBasedTrainLoop does; each batch is yielded, its outputs are sent."""
        self.runner.call_hook('before_train')
        while self._epoch < self._max_epochs and not self.stop_training:
            yield from self._steps_of_epoch()
            self._decide_current_val_interval()
            due = self._epoch % self.val_interval == 0 or self._epoch == self._max_epochs
            if self.runner.val_loop is not None and self._epoch >= self.val_begin and due:
                self.runner.val_loop.run()
        self.runner.call_hook('after_train')

    def _steps_of_epoch(self) -> Steps:
        self.runner.call_hook('before_train_epoch')
        self.runner.model.train()
        for index, batch in enumerate(self.dataloader):
            self.runner.call_hook('before_train_iter', batch_idx=index, data_batch=batch)
            outputs = yield Step(batch, index == 0, index + 1 == len(self.dataloader))
            self.runner.call_hook(
                'after_train_iter', batch_idx=index, data_batch=batch, outputs=outputs
            )
            self._iter += 1
        self.runner.call_hook('after_train_epoch')
        self._epoch += 1


def use_lockstep(config: Config) -> None:
    """Let the Runner of a config be trained by ``train_together``."""
    config.train_cfg.pop('by_epoch', None)
    config.train_cfg.type = 'LockstepLoop'


def train_together(runners: Sequence[Runner]) -> list[Exception | None]:
    """Train Runners with a LockstepLoop to their end; what ended one of them numerically, or None.

    Regressors must have networks of one shape and as many batches of the same size; their methods
    may differ, and some may train longer than others. Other models make their steps by turns.
    """
    for runner in runners:
        runner.train()
    failures: list[Exception | None] = [None] * len(runners)
    ways = [runner.train_loop.steps() for runner in runners]  # type: ignore[union-attr]
    given = {index: next(way) for index, way in enumerate(ways)}
    stacked = all(stackable(runner.model) for runner in runners)
    steps: Turns = Stacked(runners) if stacked else Turns(runners)
    while given:
        outcomes = steps.make(given)
        following = {}
        for index, outcome in outcomes.items():
            try:
                way = ways[index]
                failed = isinstance(outcome, Exception)
                following[index] = way.throw(outcome) if failed else way.send(outcome)
            except StopIteration:
                continue
            except NUMERICAL as error:
                failures[index] = error
        given = following
    return failures


class Turns:
    """Models that are not stacked: each makes its own step."""

    def __init__(self, runners: Sequence[Runner]) -> None:
        self.runners = runners

    def make(self, steps: dict[int, Step]) -> dict[int, Outcome]:
        """Update models by their batches: their outputs, or what failed."""
        outcomes: dict[int, Outcome] = {}
        for index, step in steps.items():
            runner = self.runners[index]
            try:
                wrapper = runner.optim_wrapper
                outcomes[index] = runner.model.train_step(step.batch, optim_wrapper=wrapper)
            except NUMERICAL as error:
                outcomes[index] = error
        return outcomes


class Stacked(Turns):
    """Regressors that make their steps as one; a failure is told as FiniteGuardHook tells it."""

    def __init__(self, runners: Sequence[Runner]) -> None:
        super().__init__(runners)
        self.stack = RegressorStack(
            [runner.model for runner in runners],
            [runner.optim_wrapper.optimizer for runner in runners],
        )
        self.members: list[int] = []

    def make(self, steps: dict[int, Step]) -> dict[int, Outcome]:
        batches = {index: step.batch for index, step in steps.items()}
        first = any(step.first for step in steps.values())
        if first or list(steps) != self.members:
            if not first:
                self.stack.finish_epoch()  # a member has left: others may have shared its mean
            self.stack.start_epoch(batches)
            self.members = list(steps)
        outcomes = self.stack.step(batches)
        if any(step.last for step in steps.values()):
            self.stack.finish_epoch()
        return {
            index: _told(self.runners[index], batches[index], outcome)
            if isinstance(outcome, Exception)
            else outcome
            for index, outcome in sorted(outcomes.items())
        }


def _told(runner: Runner, batch: Any, error: Exception) -> Exception:
    guards = [hook for hook in runner.hooks if isinstance(hook, FiniteGuardHook)]
    return guards[0].failure(runner, batch, error) if guards else error
