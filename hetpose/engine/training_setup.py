"""Refuse settings that would train something else than what they seem to ask for."""

from __future__ import annotations

import copy

import torch
from mmengine.config import Config
from mmengine.runner import Runner
from mmpose.registry import MODELS
from torch import nn

from hetpose.engine.hooks import FreezeMeanHook, ObjectiveSwitchHook, RefreshAnchorHook
from hetpose.engine.phases import planned_phases
from hetpose.errors import UserError
from hetpose.models.phase import find_switchable, is_switchable


def check_training(runner: Runner, steps: int) -> None:
    """Raise where a training would silently leave out a part of its config.

    Args:
        runner: the Runner, before it trains.
        steps: optimisation steps of an epoch.
    """
    config = runner.cfg
    switches = [
        switch['epoch']
        for hook in runner.hooks
        if isinstance(hook, ObjectiveSwitchHook)
        for switch in hook.switches
    ]
    freezes = [hook.epoch for hook in runner.hooks if isinstance(hook, FreezeMeanHook)]
    _check_reached(config, switches + freezes)
    _check_restarts(config, switches, steps)
    refreshes = any(isinstance(hook, RefreshAnchorHook) for hook in runner.hooks)
    if is_switchable(runner.model) and not (refreshes or freezes or runner._load_from):
        _check_anchors(config)
    if switches and is_switchable(runner.model):
        _check_switches(runner.model, config)


def _check_switches(model: nn.Module, config: Config) -> None:
    """Every switch must be possible: a copy of the part that trains in phases makes them all."""
    part = copy.deepcopy(find_switchable(model))
    with torch.random.fork_rng():
        for phase in planned_phases(config)[1:]:
            try:
                part.switch(phase.objective, phase.covariance)
            except ValueError as error:
                raise UserError(f'custom_hooks: switch {phase.number}: {error}') from error


def _check_reached(config: Config, epochs: list[int]) -> None:
    """Every switch must come before the end of a training that counts epochs."""
    if not epochs:
        return
    loop = config.train_cfg
    if not loop.get('by_epoch', 'Iter' not in str(loop.get('type', ''))):
        raise UserError(
            'custom_hooks: a switch comes at an epoch, and train_cfg counts iterations; use '
            'train_cfg=dict(by_epoch=True, max_epochs=...)'
        )
    late = [epoch for epoch in epochs if epoch >= loop.max_epochs]
    if late:
        raise UserError(
            f'custom_hooks: the switch at epoch {late[0]} is never reached, training ends after '
            f'{loop.max_epochs}; set train_cfg.max_epochs above {late[0]}, or the switch earlier'
        )


def _check_restarts(config: Config, switches: list[int], steps: int) -> None:
    """A warm-up that begins later must begin with a switch, whatever the length of an epoch."""
    schedulers = config.get('param_scheduler') or []
    schedulers = schedulers if isinstance(schedulers, list | tuple) else [schedulers]
    for index, scheduler in enumerate(schedulers):
        begin = scheduler.get('begin', 0)
        rises = scheduler.get('start_factor', 1.0) < scheduler.get('end_factor', 1.0)
        if not switches or not begin or not rises:
            continue
        in_epochs = scheduler.get('by_epoch', True)
        wanted = switches if in_epochs else [epoch * steps for epoch in switches]
        if begin not in wanted:
            unit = 'epoch' if in_epochs else 'iteration'
            raise UserError(
                f'param_scheduler.{index} begins at {unit} {begin}, and the switch comes at '
                f'{unit} {", ".join(map(str, wanted))} ({steps} iterations an epoch): let both '
                'begin together, best in epochs (by_epoch=True, convert_to_iter_based=True)'
            )


def _check_anchors(config: Config) -> None:
    """An anchor that nothing sets stays the identity."""
    for phase in planned_phases(config):
        if phase.covariance is None:
            continue
        if MODELS.build(phase.covariance).residual_anchor is not None:
            raise UserError(
                f'{phase.covariance["type"]} starts from the covariance of the residuals, which '
                "nothing measures here: add dict(type='RefreshAnchorHook') to custom_hooks"
            )
