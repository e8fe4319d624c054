"""Save checkpoints so that the last complete one is never lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from mmengine.dist import is_main_process
from mmengine.hooks import CheckpointHook
from mmpose.registry import HOOKS

from hetpose.errors import UserError
from hetpose.fileio import remove_temporaries, write_text

POINTER = 'last_checkpoint'
_BEST = 'best_'
_KEPT = 'keep_ckpt_ids'


@HOOKS.register_module(name=['CheckpointHook', 'SafeCheckpointHook'])
class SafeCheckpointHook(CheckpointHook):
    """mmengine's CheckpointHook, in an order that survives a kill at any moment.

    A new checkpoint is written whole, then ``last_checkpoint`` points to it, and only then the
    outdated one is deleted; mmengine deletes first. The same holds for the best checkpoint. Only
    files in the run's own folder are deleted. Weights that are not finite are not saved. It takes
    the arguments of mmengine's hook, and its name in the scope of mmpose.
    """

    def before_train(self, runner) -> None:
        """Find the own files of a resumed run; those of another folder are left alone."""
        folder = Path(self.out_dir or runner.work_dir)
        if self.out_dir is not None:
            folder /= Path(runner.work_dir).name
        if is_main_process() and folder.is_dir():
            remove_temporaries(folder)
        info = runner.message_hub.runtime_info
        if not _continues_in(runner, folder):
            for name in [n for n in info if n == _KEPT or n.startswith(_BEST)]:
                info.pop(name)
        for name in [n for n in info if n.startswith('best_ckpt')]:
            info[name] = str(folder / Path(info[name]).name)  # the folder may have been renamed
        if runner.param_schedulers and not self.save_param_scheduler:
            raise UserError(
                'default_hooks.checkpoint.save_param_scheduler=False with a param_scheduler: a '
                'resumed run would start its schedule again; set it to True'
            )
        super().before_train(runner)

    def _save_checkpoint_with_step(self, runner, step: int, meta: dict) -> None:
        outdated = self._remember(runner, step)
        name = self.filename_tmpl.format(step)
        self.last_ckpt = self.file_backend.join_path(self.out_dir, name)
        runner.message_hub.update_info('last_ckpt', self.last_ckpt)
        runner.save_checkpoint(
            self.out_dir,
            name,
            self.file_client_args,
            save_optimizer=self.save_optimizer,
            save_param_scheduler=self.save_param_scheduler and bool(runner.param_schedulers),
            meta=meta,
            by_epoch=self.by_epoch,
            backend_args=self.backend_args,
            **self.args,
        )
        if is_main_process():
            write_text(Path(runner.work_dir) / POINTER, str(self.last_ckpt))
            for old in outdated:
                self._remove(self.file_backend.join_path(self.out_dir, old))

    def _remember(self, runner, step: int) -> list[str]:
        """Add a step to those that are kept; the names of the files that are outdated then."""
        if self.max_keep_ckpts <= 0 or step in self.keep_ckpt_ids:
            return []
        outdated = []
        while len(self.keep_ckpt_ids) >= self.max_keep_ckpts:
            outdated.append(self.filename_tmpl.format(self.keep_ckpt_ids.popleft()))
        self.keep_ckpt_ids.append(step)
        runner.message_hub.update_info(_KEPT, list(self.keep_ckpt_ids))
        return outdated

    def _save_best_checkpoint(self, runner, metrics: dict[str, Any]) -> None:
        """Save a better checkpoint, then delete the one that was best."""
        if not self.save_best:
            return
        previous = self._best_paths()
        self._set_best_paths(dict.fromkeys(previous))  # so that mmengine deletes nothing
        super()._save_best_checkpoint(runner, metrics)
        current = self._best_paths()
        self._set_best_paths({key: current[key] or old for key, old in previous.items()})
        if not is_main_process():
            return
        for key, old in previous.items():
            if old is not None and current[key] not in (None, old):
                self._remove(old)

    def _best_paths(self) -> dict[str, str | None]:
        if len(self.key_indicators) == 1:
            return {'': self.best_ckpt_path}
        return {key: self.best_ckpt_path_dict.get(key) for key in self.key_indicators}

    def _set_best_paths(self, paths: dict[str, str | None]) -> None:
        if len(self.key_indicators) == 1:
            (self.best_ckpt_path,) = paths.values()
        else:
            self.best_ckpt_path_dict.update(paths)

    def _remove(self, path: str) -> None:
        if self.file_backend.isfile(path):
            self.file_backend.remove(path)

    def before_save_checkpoint(self, runner, checkpoint: dict) -> None:
        """Refuse to save weights that hold NaN or infinite values."""
        broken = [
            name
            for name, value in checkpoint['state_dict'].items()
            if torch.is_floating_point(value) and not torch.isfinite(value).all()
        ]
        if broken:
            raise FloatingPointError(f'{len(broken)} weights are not finite, first {broken[0]}')


def _continues_in(runner, folder: Path) -> bool:
    """Whether a resumed run goes on in the folder that it was resumed from."""
    source = runner._load_from
    return source is None or Path(source).resolve().parent == folder.resolve()
