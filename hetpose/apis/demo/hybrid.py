"""The hybrid on SyntheticPose from end to end: pseudo-labels, training, test, table, gallery."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmpose.registry import DATASETS

from hetpose.apis.data.pseudo_labels import make_pseudo_labels
from hetpose.apis.demo.gallery import write_gallery
from hetpose.engine import launch, running
from hetpose.engine.checkpoint import read_checkpoint, weights_of
from hetpose.engine.resume import AUTO, use_resume
from hetpose.errors import UserError
from hetpose.evaluation.functional.pose import divergence_to_truth
from hetpose.fileio import write_json, write_text
from hetpose.ops.distribution import Distribution
from hetpose.tables import markdown_table

# Samples of the training set, on which the pseudo-labels are compared with the truth.
LABELLED_SAMPLES = 400
GALLERY_SAMPLES = 120  # of the test set, from which the gallery is chosen
COLUMNS = ('mse', 'nll', 'tac', 'coverage_90', 'kl', 'w2')


class EpochLine(Hook):
    """Print one line after each validation."""

    def after_val_epoch(self, runner: Runner, metrics: dict[str, float] | None = None) -> None:
        assert metrics is not None
        numbers = '  '.join(
            f'{name} {metrics[f"pose/{name}"]:8.3f}' for name in ('mse', 'nll', 'w2')
        )
        phase = type(runner.model.head.objective).__name__
        print(f'epoch {runner.epoch:3d}  {phase:17s} {numbers}', flush=True)


def run_demo(config: Config, work_dir: str | Path, resume: bool = False) -> dict[str, Any]:
    """Make pseudo-labels, train, test before and after the switch, and write what came out.

    Files in ``work_dir``: pseudo_labels.npz, checkpoints, results.json, results.md, gallery.png.
    With ``resume`` what is there already is taken up.
    """
    work_dir = Path(work_dir)
    switch = _switch_epoch(config)
    start = time.perf_counter()
    labels = work_dir / 'pseudo_labels.npz'
    if not (resume and labels.is_file()):
        print('pseudo-labels from the neighbours of each crop', flush=True)
        make_pseudo_labels(config, labels, progress=False)
    config.train_dataloader.dataset.file = str(labels)
    config.work_dir = str(work_dir)
    if resume:
        use_resume(config, AUTO)
    config.default_hooks.checkpoint.update(interval=1, max_keep_ckpts=-1, save_best=None)
    runner = launch.build_runner(config)
    runner.register_hook(EpochLine())
    with running.own_folder(work_dir):
        running.train(runner)
    results = {
        'pseudo_labels': pseudo_label_quality(config),
        'before_switch': _test(runner, work_dir / f'epoch_{switch}.pth'),
        'after_switch': _test(runner, work_dir / f'epoch_{runner.max_epochs}.pth'),
        'seconds': time.perf_counter() - start,
    }
    write_json(work_dir / 'results.json', results)
    write_text(work_dir / 'results.md', results_table(results))
    write_gallery(work_dir / 'gallery.png', *_predictions(runner))
    return results


def _switch_epoch(config: Config) -> int:
    """The number of epochs before the switch; both sides of it must be trained."""
    for hook in config.custom_hooks:
        if hook.type == 'ObjectiveSwitchHook':
            switch, last = hook.switches[0]['epoch'], config.train_cfg.max_epochs
            if not 0 < switch < last:
                raise UserError(
                    f'the switch comes at epoch {switch} of {last}: train_cfg.max_epochs must be '
                    'larger, and the epoch of the switch at least 1'
                )
            return switch
    raise UserError(f'{config.filename} has no ObjectiveSwitchHook')


def _test(runner: Runner, checkpoint: Path) -> dict[str, float]:
    """The metrics of a checkpoint on the test set."""
    runner.model.load_state_dict(weights_of(read_checkpoint(checkpoint)))
    metrics = runner.test()
    return {name.removeprefix('pose/'): value for name, value in metrics.items()}


@torch.no_grad()
def _predictions(runner: Runner) -> tuple[Any, list]:
    """The test set and the predicted samples of its beginning."""
    dataset = runner.test_dataloader.dataset
    runner.model.eval()
    predicted = []
    for first in range(0, min(GALLERY_SAMPLES, len(dataset)), 30):
        last = min(first + 30, GALLERY_SAMPLES, len(dataset))
        batch = pseudo_collate([dataset[index] for index in range(first, last)])
        predicted += runner.model.test_step(batch)
    return dataset, predicted


def pseudo_label_quality(config: Config) -> dict[str, float]:
    """KL and W2 of the pseudo-labels to the true covariance, in heatmap units."""
    wrapped = config.train_dataloader.dataset.copy()
    wrapped.pipeline = config.test_dataloader.dataset.pipeline  # no augmentation
    dataset = DATASETS.build(wrapped)
    chosen = [dataset[i]['data_samples'] for i in range(min(LABELLED_SAMPLES, len(dataset)))]
    roots = torch.cat([sample.gt_instance_labels.pseudo_root for sample in chosen]).double()
    truth = torch.cat([sample.gt_instance_labels.true_factor for sample in chosen]).double()
    weights = torch.cat([sample.gt_instance_labels.keypoint_weights for sample in chosen])
    mask = weights.repeat_interleave(2, dim=-1) > 0
    zero = torch.zeros_like(roots[..., 0])
    kl, w2 = divergence_to_truth(
        Distribution(zero, roots @ roots.mT, mask=mask, true_factor=truth, block=2)
    )
    return {'kl': kl, 'w2': w2}


def results_table(results: dict[str, Any]) -> str:
    """The rows that count, as Markdown."""
    after = results['after_switch']
    prefix = 'homoscedastic_'
    constant = {name.removeprefix(prefix): v for name, v in after.items() if prefix in name}
    rows = {
        'pseudo-labels': results['pseudo_labels'],
        'hybrid before the switch (w2_bound)': results['before_switch'],
        'hybrid after the switch (nll)': after,
        'same mean, one constant covariance': constant,
    }
    titles = ('MSE', 'NLL', 'TAC', '90% covers', 'KL to truth', 'W2² to truth')
    cells = [
        [name, *(f'{row[column]:.3f}' if column in row else '' for column in COLUMNS)]
        for name, row in rows.items()
    ]
    return markdown_table(['', *titles], cells) + '\n'
