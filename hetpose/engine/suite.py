"""From the few variables of a suite's config to the complete Runner config of one unit.

A suite's config has templates and the variables ``dataset``, ``trial``, ``protocol``, ``epochs``,
``warmup`` and ``floor``; all that follows from them is filled in here, when the Runner is built.
So ``--cfg-options dataset=energy trial=3`` is all that it takes to change them.
"""

from __future__ import annotations

import copy
import math
from typing import Any

from mmengine.config import Config
from mmengine.dist import get_world_size
from mmengine.registry import RUNNERS
from mmengine.runner import Runner
from mmpose.registry import MODELS

from hetpose.datasets.regression import PROTOCOLS
from hetpose.datasets.regression.source import build_source, load_splits
from hetpose.errors import UserError, unknown_name

WARMUP_FRACTION = 0.5
MEAN_ONLY = {'type': 'MSEObjective'}
FOLLOWS = {'train_cfg.max_epochs': 'epochs', 'randomness.seed': 'trial', 'model.seed': 'trial'}


@RUNNERS.register_module()
class SuiteRunner(Runner):
    """A Runner whose config is resolved first; ``runner_type = 'SuiteRunner'`` chooses it."""

    @classmethod
    def from_cfg(cls, cfg: Config) -> SuiteRunner:
        resolved = resolve(cfg)
        runner: SuiteRunner = super().from_cfg(resolved)  # type: ignore[assignment]
        epochs = resolved.train_cfg.max_epochs
        if epochs > cfg.epochs:
            runner.logger.info(f'epochs={cfg.epochs} is for each network in turn: {epochs} in all')
        return runner


def resolve(config: Config) -> Config:
    """The complete config of one run: data, dimensions, seeds, phases and floors filled in."""
    config = copy.deepcopy(config)
    if config.protocol not in PROTOCOLS:
        raise unknown_name('protocol', config.protocol, PROTOCOLS)
    first, later, length = phases(config.method, config.warmup)
    check_length(config)
    source = dict(
        config.source,
        name=config.dataset,
        trial=config.trial,
        protocol=config.protocol,
        pseudo_labels=any(_needs_labels(phase) for phase in [first, *later]),
    )
    for name in ('train', 'val', 'test'):
        if config[f'{name}_dataloader'] is not None:  # --no-validate leaves one out
            config[f'{name}_dataloader'].dataset.source = source
    _refuse_what_follows(config)
    config.randomness = dict(config.get('randomness') or {}, seed=config.trial)
    in_dim, out_dim = build_source(source).dims
    config.model.update(in_dim=in_dim, out_dim=out_dim, seed=config.trial)
    check_phases([first, *later], out_dim)
    config.model.update(_floored(first, config.floor))
    needed = _outputs([first, *later], out_dim)
    if needed > out_dim**2 + 2:
        config.model.covariance_outputs = needed
    config.train_cfg.max_epochs = _at(length, config.epochs)
    config.train_dataloader.drop_last = _leaves_one(config.train_dataloader, source)
    idle = any(_idles(phase) for phase in [first, *later])
    config.find_unused_parameters = idle
    if 'model_wrapper_cfg' in config:
        config.model_wrapper_cfg.find_unused_parameters = idle
    # Without held-out data there is nothing to choose weights by.
    chooses = config.protocol != 'paper' and config.val_dataloader is not None
    hooks = [hook for hook in config.custom_hooks if chooses or hook['type'] != 'KeepBestHook']
    config.custom_hooks = [*phase_hooks(later, config), *hooks]
    return config


def phases(method: dict[str, Any], warmup: bool) -> tuple[dict, list[dict], float]:
    """The first phase, the later ones with the fraction ``at`` of the epochs, and the length.

    A warm-up trains the mean alone for half the epochs and squeezes the method into the rest.
    """
    first = {key: method.get(key) for key in ('objective', 'covariance')}
    later = [dict(phase) for phase in method.get('phases', ())]
    length = method.get('length', 1.0)
    if not warmup:
        return first, later, length
    if first['objective'] == MEAN_ONLY:
        raise UserError('warmup: this method already trains its mean alone')
    squeezed = [
        dict(phase, at=WARMUP_FRACTION + (1 - WARMUP_FRACTION) * phase['at']) for phase in later
    ]
    start = dict(first, at=WARMUP_FRACTION)
    return {'objective': MEAN_ONLY, 'covariance': None}, [start, *squeezed], length


def check_length(config: Config) -> None:
    """Refuse a number of epochs that leaves out a phase of the method."""
    _, later, length = phases(config.method, config.warmup)
    for phase in later:
        epoch, last = _at(phase['at'], config.epochs), _at(length, config.epochs)
        if epoch >= last:
            raise UserError(
                f'epochs={config.epochs}: {phase["objective"]["type"]} would begin after epoch '
                f'{epoch} of {last}, that is never; take more epochs'
            )


def check_phases(every: list[dict], out_dim: int) -> None:
    """Refuse at once a phase that would fail when its epoch comes."""
    covariance = None
    for number, phase in enumerate(every):
        objective = MODELS.build(phase['objective'])
        covariance = phase.get('covariance') or covariance  # a switch without one keeps the last
        parameterisation = None if covariance is None else MODELS.build(covariance)
        try:
            objective.check(parameterisation, out_dim)
        except ValueError as error:
            raise UserError(f'method: {error}') from error
        if number and parameterisation is not None and parameterisation.relocates:
            raise UserError(
                f'method: {type(parameterisation).__name__} gives the mean another meaning, '
                'so nothing can be trained before it (no warmup)'
            )


def phase_hooks(later: list[dict], config: Config) -> list[dict]:
    """The hooks that carry out the later phases; each starts with the full learning rate."""
    lr = config.optim_wrapper.optimizer.lr
    switches = []
    hooks = []
    for phase in later:
        epoch = _at(phase['at'], config.epochs)
        switches.append(dict(_floored(phase, config.floor), epoch=epoch, lr=lr))
        if phase.get('freeze_mean'):
            hooks.append(dict(type='FreezeMeanHook', epoch=epoch))
    if switches:
        hooks.insert(0, dict(type='ObjectiveSwitchHook', switches=switches))
    return hooks


def _floored(phase: dict, floor: float) -> dict[str, Any]:
    """Objective and covariance of a phase, with the suite's floor."""
    covariance = phase.get('covariance')
    if covariance is not None:
        covariance = dict(covariance)
        covariance.setdefault('floor', floor)
    return {'objective': dict(phase['objective']), 'covariance': covariance}


def _outputs(every: list[dict], out_dim: int) -> int:
    """The most raw outputs that the covariance of a phase needs."""
    covariances = [phase['covariance'] for phase in every if phase.get('covariance')]
    return max((MODELS.build(c).num_outputs(out_dim) for c in covariances), default=0)


def _needs_labels(phase: dict) -> bool:
    return MODELS.get(phase['objective']['type']).needs_target_covariance


def _idles(phase: dict) -> bool:
    """Whether one of the two networks learns nothing, which distributed training must know."""
    trains_both = MODELS.get(phase['objective']['type']).trains_covariance
    return not trains_both or bool(phase.get('freeze_mean'))


def _at(fraction: float, epochs: int) -> int:
    return max(1, round(fraction * epochs))


def _refuse_what_follows(config: Config) -> None:
    """Refuse values that a suite fills in itself from one of its variables."""
    given = {
        'train_cfg.max_epochs': 'max_epochs' in config.train_cfg,
        'randomness.seed': 'seed' in (config.get('randomness') or {}),
        'model.seed': 'seed' in config.model,
    }
    for key, variable in FOLLOWS.items():
        if given[key]:
            raise UserError(f'{key}: a suite sets it from {variable}; set {variable}=N instead')


def _leaves_one(loader: dict, source: dict) -> bool:
    """Whether the last batch would be one sample, of which batch norm has no statistics."""
    count = math.ceil(len(load_splits(source)['train']) / get_world_size())
    return count > loader['batch_size'] and count % loader['batch_size'] == 1
