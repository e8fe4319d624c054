"""End training before an update that would spoil the weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from mmengine.dist import get_world_size
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.optim import AmpOptimWrapper, OptimWrapper
from mmpose.registry import HOOKS
from torch import Tensor, nn

from hetpose.engine.hooks.checkpoint import POINTER
from hetpose.errors import UserError
from hetpose.models.phase import find_switchable, is_switchable
from hetpose.models.regressors import DivergedError
from hetpose.ops.spd import NotPositiveDefiniteError
from hetpose.ops.validation import NotFiniteError

SKIPPED = 'skipped_batches'  # in the message hub, which a checkpoint stores
NUMERICAL = (
    DivergedError,
    NotFiniteError,
    NotPositiveDefiniteError,
    FloatingPointError,
    torch.linalg.LinAlgError,
)


@HOOKS.register_module()
class FiniteGuardHook(Hook):
    """Stop before the update where a loss or a gradient is not finite, and tell what was seen.

    ``launch.build_runner`` adds this hook; a config that has it chooses its settings. Losses are
    checked before the backward pass, gradients before the optimiser's step. With mixed precision
    gradients are left to the loss scaler, which expects some that overflow.

    Args:
        action: 'stop', or 'skip' to leave such a batch out: no weight, moment or running
            statistic remembers it. 'skip' is for one process.
        max_skips: how many batches a run may skip before it stops.
    """

    priority = 'VERY_LOW'

    def __init__(self, action: str = 'stop', max_skips: int = 10) -> None:
        if action not in ('stop', 'skip'):
            raise ValueError(f"action must be 'stop' or 'skip', got {action!r}")
        self.action = action
        self.max_skips = max_skips

    def before_train(self, runner) -> None:
        """Put the checks between the model and the optimiser."""
        if self.action == 'skip' and get_world_size() > 1:
            raise UserError("FiniteGuardHook: action='skip' works in one process only")
        model = _unwrapped(runner.model)
        self._losses: dict[str, Tensor] = {}
        parse, step = model.parse_losses, runner.model.train_step

        def parse_losses(losses: dict) -> tuple[Tensor, dict]:
            total, self._losses = parse(losses)
            if not torch.isfinite(total):
                raise FloatingPointError(f'the loss is {float(total.detach())}')
            return total, self._losses

        def train_step(data: Any, optim_wrapper: OptimWrapper) -> dict[str, Tensor]:
            return self._guarded(runner, step, data, optim_wrapper)

        self._handles = [] if isinstance(runner.optim_wrapper, AmpOptimWrapper) else [
            optimizer.register_step_pre_hook(lambda one, *_: _check_gradients(one, model))
            for optimizer in _optimizers(runner.optim_wrapper)
        ]  # fmt: skip
        model.parse_losses = parse_losses
        runner.model.train_step = train_step

    def after_train(self, runner) -> None:
        """Leave model and optimiser as they were."""
        for handle in self._handles:
            handle.remove()
        del _unwrapped(runner.model).parse_losses, runner.model.train_step

    def _guarded(
        self, runner, step: Callable[..., dict], data: Any, optim_wrapper: OptimWrapper
    ) -> dict[str, Tensor]:
        self._losses = {}
        model = _unwrapped(runner.model)
        buffers = list(model.buffers()) if self.action == 'skip' else []  # running statistics
        kept = [buffer.clone() for buffer in buffers]
        try:
            return step(data, optim_wrapper=optim_wrapper)
        except (*NUMERICAL, ValueError) as error:
            skipped = runner.message_hub.get_info(SKIPPED, 0)
            if self.action == 'stop' or skipped >= self.max_skips:
                raise self.failure(runner, data, error) from error
            told = self._described(runner, data, error)
        for buffer, value in zip(buffers, kept, strict=True):
            buffer.copy_(value)
        optim_wrapper.zero_grad()
        runner.message_hub.update_info(SKIPPED, skipped + 1)
        runner.logger.warning(f'batch skipped ({skipped + 1} of at most {self.max_skips}): {told}')
        return {}

    def failure(self, runner, data: Any, error: Exception) -> Exception:
        """The error that ends a run whose step on a batch failed."""
        skipped = runner.message_hub.get_info(SKIPPED, 0)
        limit = f'; {skipped} batches were skipped before' if skipped else ''
        return _stop(runner, error, self._described(runner, data, error) + limit)

    def _described(self, runner, data: Any, error: Exception) -> str:
        """The findings, in one line."""
        reason = str(getattr(error, 'reason', error)).rstrip('.')
        batch = runner.iter % max(len(runner.train_dataloader), 1)
        parts = [f'{reason}; epoch {runner.epoch + 1}, batch {batch + 1}']
        names = sample_names(data)
        if names:
            parts.append(f'samples {", ".join(names)}')
        values = [f'{name} {float(value):.4g}' for name, value in self._losses.items()]
        if values:
            parts.append(', '.join(values))
        smallest = smallest_eigenvalue(_unwrapped(runner.model), data)
        if smallest is not None:
            parts.append(f"covariance's smallest eigenvalue {smallest:.3g}")
        return '; '.join(parts)


def _stop(runner, error: Exception, told: str) -> Exception:
    """The error that ends a run; it names the checkpoint to go back to."""
    pointer = Path(runner.work_dir) / POINTER
    good = pointer.read_text(encoding='utf-8').strip() if pointer.is_file() else 'none yet'
    told = f'{told}; last good checkpoint: {good}'
    if not isinstance(error, NUMERICAL):
        return UserError(f'training stopped before the update: {told}')
    parts: list[str] = [type(_unwrapped(runner.model)).__name__]
    if is_switchable(runner.model):
        part = find_switchable(runner.model)
        both = (part.objective, part.covariance)
        parts = [type(one).__name__ for one in both if one is not None]
    return DivergedError(' + '.join(parts), runner.iter, told)


def _check_gradients(optimizer: torch.optim.Optimizer, model: nn.Module) -> None:
    """Raise where a gradient that an optimiser is about to use is not finite."""
    weights = [weight for group in optimizer.param_groups for weight in group['params']]
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    if not gradients:
        return
    # The length of a gradient is twenty times cheaper than its largest element, and not finite
    # where an element is not. It can also overflow, which the loop below tells apart.
    if torch.isfinite(torch.stack(torch._foreach_norm(gradients))).all():
        return
    for name, weight in model.named_parameters():
        if weight.grad is not None and not torch.isfinite(weight.grad).all():
            raise FloatingPointError(f'the gradient of {name} is not finite')


def _optimizers(optim_wrapper: Any) -> list[torch.optim.Optimizer]:
    wrappers = [optim_wrapper]
    if not isinstance(optim_wrapper, OptimWrapper):  # several, by name
        wrappers = list(optim_wrapper.values())
    return [wrapper.optimizer for wrapper in wrappers]


def sample_names(data: Any) -> list[str]:
    """The names of the samples of a batch: their image and id, where they have some."""
    samples = data.get('data_samples') if isinstance(data, dict) else None
    names = []
    for sample in samples or ():
        info = getattr(sample, 'metainfo', {})
        known = [str(info[key]) for key in ('img_path', 'id') if info.get(key) is not None]
        names.append(' #'.join(known) or '?')
    return names


@torch.no_grad()
def smallest_eigenvalue(model: nn.Module, data: Any) -> float | None:
    """The smallest eigenvalue of Σ over a batch, by another forward pass; None without a Σ."""
    if not is_switchable(model) or find_switchable(model).covariance is None:
        return None
    seen: list = []
    covariance = find_switchable(model).covariance
    handle = covariance.register_forward_hook(lambda module, given, made: seen.append(made))
    try:
        network: Any = model
        network._run_forward(network.data_preprocessor(data, True), mode='loss')
    except (*NUMERICAL, ValueError, RuntimeError, UserError):
        pass  # the covariance comes before what fails, or there is none
    finally:
        handle.remove()
    try:
        return float(torch.linalg.eigvalsh(seen[-1].matrix.double()).min()) if seen else None
    except (*NUMERICAL, ValueError, RuntimeError):
        return float('nan')


def _unwrapped(model: nn.Module) -> Any:
    return model.module if is_model_wrapper(model) else model
