"""Find the checkpoint that a run continues from, refuse one of another run, and load it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmengine.runner import BaseLoop
from mmpose.registry import HOOKS
from torch import nn

from hetpose.engine.checkpoint import check_fit, read_checkpoint, weights_of
from hetpose.engine.hooks.checkpoint import POINTER
from hetpose.engine.phases import (
    enter_phase,
    planned_phases,
    recorded_phase,
    start_weights,
)
from hetpose.errors import UserError
from hetpose.models.phase import Phase, same_meaning, same_type

AUTO = 'auto'
IDENTITY = 'hetpose_run'  # in the meta data of a checkpoint
_NUMBERED = re.compile(r'^(?:epoch|iter)_(\d+)\.pth$')
_PARTS = ('meta', 'message_hub', 'optimizer')  # what mmengine needs to continue


def use_resume(config: Config, resume: str) -> None:
    """Let a config continue from a checkpoint: a path, or 'auto' for the newest that is whole.

    Where there is none, 'auto' starts from the beginning. A seed that the first run drew itself is
    taken from the checkpoint.
    """
    path = newest_checkpoint(config.work_dir) if resume == AUTO else Path(resume)
    config.resume, config.load_from = path is not None, path and str(path)
    if path is None:
        _tell(f'no checkpoint in {config.work_dir}: training starts from the beginning')
        return
    if '://' in str(resume):
        config.load_from = resume
        return
    content = _resumable(path)
    seed = content['meta'].get('seed')
    if 'runner_type' not in config and (config.get('randomness') or {}).get('seed') is None:
        config.randomness = dict(config.get('randomness') or {}, seed=seed)
    _tell(f'training continues after epoch {content["meta"]["epoch"]}, from {path}')


def newest_checkpoint(work_dir: str | Path) -> Path | None:
    """The newest checkpoint of a folder that can be continued from; None where there is none.

    One that is damaged is passed over with a warning; an error where no other is left.
    """
    damage = []
    for path in checkpoints_of(Path(work_dir)):
        try:
            _resumable(path)
        except UserError as error:
            damage.append(str(error))
            _tell(f'{error}; an older checkpoint is looked for')
            continue
        return path
    if damage:
        raise UserError(f'--resume: no checkpoint in {work_dir} is usable; {damage[0]}')
    return None


def checkpoints_of(folder: Path) -> list[Path]:
    """Checkpoints of a folder, and the one that its pointer names, the newest first."""
    found = [path for path in folder.glob('*.pth') if _NUMBERED.match(path.name)]
    pointer = folder / POINTER
    if pointer.is_file():
        named = Path(pointer.read_text(encoding='utf-8', errors='replace').strip())
        if named.name and named.name not in {path.name for path in found} and named.is_file():
            found.append(named)
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, _number(path)), reverse=True)


def _number(path: Path) -> int:
    match = _NUMBERED.match(path.name)
    return int(match[1]) if match else -1


def _resumable(path: Path) -> dict[str, Any]:
    """The content of a checkpoint, which must have all that a run needs to continue."""
    content = read_checkpoint(path)
    missing = [name for name in _PARTS if not isinstance(content.get(name), dict)]
    if missing or not {'epoch', 'iter'} <= set(content['meta']):
        raise UserError(
            f'checkpoint {path} holds weights but no state of a run ({", ".join(missing)}): start '
            f'from them with --cfg-options load_from={path}'
        )
    return content


def check_resume(model: nn.Module, config: Config, path: str | Path) -> None:
    """Raise where a checkpoint cannot be continued with a model and its config.

    The checkpoint must be of the same run (data, trial, method), in a phase that the config plans,
    and its weights must fit. The model is left in that phase.
    """
    content = _resumable(Path(path))
    _check_identity(content['meta'].get(IDENTITY) or {}, identity(config), path)
    recorded = recorded_phase(model, weights_of(content))
    if recorded is not None:
        _check_phase(recorded, planned_phases(config), path)
    enter_phase(model, config, content)
    check_fit(model, content, path, whole=True)


def identity(config: Config) -> dict[str, str]:
    """Values that tell a run of a suite from others whose weights have the same shapes."""
    names = ('dataset', 'trial', 'protocol', 'warmup')
    if config.get('runner_type') is None:
        return {}
    return {name: str(config.get(name)) for name in names}


def _check_identity(theirs: dict[str, str], ours: dict[str, str], path: str | Path) -> None:
    for name, value in ours.items():
        if theirs.get(name, value) != value:
            raise UserError(
                f'--resume: checkpoint {path} is of a run with {name}={theirs[name]}, this one '
                f'has {name}={value}; choose another --work-dir'
            )


def _check_phase(recorded: Phase, planned: list[Phase], path: str | Path) -> None:
    if recorded.number is None:
        raise UserError(
            f'--resume: checkpoint {path} is of an earlier version and does not tell its phase; '
            f'start from its weights with --cfg-options load_from={path}'
        )
    fits = recorded.number < len(planned)
    if fits:
        plan = planned[recorded.number]
        fits = same_type(recorded.objective, plan.objective)
        fits = fits and same_meaning(recorded.covariance, plan.covariance)
    if not fits:
        plans = [_described(phase) for phase in planned]
        raise UserError(
            f'--resume: checkpoint {path} was trained with {_described(recorded)} in phase '
            f'{recorded.number}, and the phases of this config are {"; ".join(plans)}'
        )


def _described(phase: Phase) -> str:
    parts = [part for part in (phase.objective, phase.covariance) if part is not None]
    return ' + '.join(str(getattr(p['type'], '__name__', p['type'])) for p in parts)


def _tell(text: str) -> None:
    """Print a line; there is no Runner yet, and so no logger."""
    if is_main_process():
        print(text, flush=True)


@HOOKS.register_module()
class StartHook(Hook):
    """Load a checkpoint as the run needs it; ``launch.build_runner`` adds this hook.

    A run that is resumed and a test enter the phase in which the checkpoint was saved. A run that
    only starts from its weights (``load_from`` without ``resume``) stays in its config's phase.
    """

    priority = 'LOWEST'  # after hooks that put other weights into the checkpoint

    def before_save_checkpoint(self, runner, checkpoint: dict) -> None:
        """Store what tells the run from others."""
        checkpoint['meta'][IDENTITY] = identity(runner.cfg)

    def after_load_checkpoint(self, runner, checkpoint: dict) -> None:
        """Prepare the model and the weights; mmengine loads them next."""
        # mmengine would run a config that it finds here as a program.
        checkpoint.get('meta', {}).pop('config', None)
        if 'state_dict' not in checkpoint:
            return
        checkpoint['state_dict'] = weights_of(checkpoint)
        starts_training = isinstance(runner._train_loop, BaseLoop) and not runner._resume
        if starts_training:
            checkpoint['state_dict'] = start_weights(runner.model, checkpoint['state_dict'])
        else:
            enter_phase(runner.model, runner.cfg, checkpoint)
