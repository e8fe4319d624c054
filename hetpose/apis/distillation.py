"""From a trained Taylor-induced covariance to a plain one that costs next to nothing.

Axes: N people, K joints, d = 2K, m entries of the bottleneck z.
"""

from __future__ import annotations

import copy
import random
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.runner import Runner
from torch import Tensor
from tqdm import tqdm

from hetpose.apis.fit.training import TrainingSettings, train_rows
from hetpose.apis.loading import find_device, load_network
from hetpose.apis.saving import write_model
from hetpose.datasets.pose.error_rows import TensorRows
from hetpose.engine import launch
from hetpose.engine.loaders import guarded_loader, quarantine_for
from hetpose.engine.seeding import start_worker
from hetpose.errors import UserError
from hetpose.fileio import write_json
from hetpose.models.heads import HeteroscedasticHead
from hetpose.models.heads.covariance_student import CovarianceStudent
from hetpose.models.heads.pose_labels import PoseLabels
from hetpose.ops.gaussian import kl_divergence, negative_log_likelihood
from hetpose.ops.spread import map_statistics
from hetpose.tables import text_table

# Hooks that plan the phases of a training, or keep weights: the student has one phase.
PHASE_HOOKS = ('ObjectiveSwitchHook', 'RefreshAnchorHook', 'FreezeMeanHook', 'KeepBestHook')
BRANCH = ('head.covariance_branch.', 'head._extra_state')  # weights that are not the teacher's
CHECKED = 64  # people whose keypoints are compared with the teacher's


@dataclass(frozen=True)
class DistillSettings:
    """The settings of a distillation.

    covariance: type of the student's parameterisation, without Taylor terms.
    label_weight: factor of the likelihood of the labels; it is added to the divergence from the
        teacher.
    views: passes over the training data, each with its own augmentation.
    """

    covariance: str = 'AnchoredCovariance'
    label_weight: float = 0.5
    views: int = 1
    batch_size: int = 32
    workers: int = 0
    training: TrainingSettings = field(default_factory=lambda: TrainingSettings(epochs=30))


@dataclass(frozen=True)
class DistillReport:
    """Teacher and student on the test data: nats per person, in heatmap units."""

    people: dict[str, int]
    teacher: float
    student: float
    divergence: float
    unchanged: float

    def table(self) -> str:
        """Two rows, and what did not change."""
        rows = [
            ['Taylor-induced', f'{self.teacher:.3f}', ''],
            ['distilled', f'{self.student:.3f}', f'{self.divergence:.3f}'],
        ]
        head = ['covariance', f'NLL ({self.people["test"]} people)', 'KL to the teacher']
        return (
            text_table(head, rows)
            + f'\nkeypoints unchanged: largest difference {self.unchanged:g} heatmap units'
        )


def distill(
    config: str | Path,
    checkpoint: str | Path,
    out: str | Path,
    *,
    settings: DistillSettings | None = None,
    device: str | None = None,
    options: dict[str, Any] | list[str] | None = None,
    progress: bool = True,
) -> DistillReport:
    """Give a trained model with a Taylor-induced covariance a plain one that predicts the same.

    All but the covariance network stays as it is, so that the mean is that of the teacher, bit
    for bit. A new one, which reads the bottleneck and how the heatmaps look, learns the teacher's
    Σ and the labels from one pass over the training data; validation data choose its weights.

    Args:
        config, checkpoint: of the trained model.
        out: folder that receives config.py and checkpoint.pth, which all commands take, and
            report.json.
        settings: see ``DistillSettings``.
        device: 'cpu', 'cuda', ...; None takes a GPU where there is one.
        options: changes to the config, by dotted key.
        progress: whether to show bars.
    """
    settings, out = settings or DistillSettings(), Path(out)
    source = launch.load_config(config, options)
    init_default_scope(source.get('default_scope', 'mmpose'))
    teacher, _ = load_network(source, checkpoint, device)
    made = student_config(source, teacher, settings)
    torch.manual_seed(settings.training.seed)
    student = _with_weights_of(teacher, made, find_device(device))
    rows = {name: observe(teacher, source, name, settings, progress) for name in _PARTS}
    branch = CovarianceStudent(student.head.covariance_branch, settings.label_weight).cpu()
    known = rows['train'].arrays
    branch.prepare(known['evidence'], known['teacher'])
    train_rows(
        branch, rows['train'], rows['val'], out / 'fit', settings.training, 'distil', progress
    )
    student.to(find_device(device)).eval()
    report = _judge(branch, rows, _largest_difference(teacher, student, source, settings))
    metainfo = guarded(source, 'test', settings).dataset.metainfo
    write_model(made, student, metainfo, out)
    write_json(out / 'report.json', asdict(report))
    return report


_PARTS = ('train', 'val', 'test')


def student_config(config: Config, teacher: Any, settings: DistillSettings) -> Config:
    """The config of the student; a UserError where there is nothing to distil."""
    head = getattr(teacher, 'head', None)
    if not isinstance(head, HeteroscedasticHead):
        raise UserError(f'config {config.filename}: its head is no HeteroscedasticHead')
    if head.covariance.taylor_order is None:
        raise UserError(
            f'config {config.filename}: {type(head.covariance).__name__} has no Taylor terms, its '
            'prediction is quick as it is'
        )
    if head.covariance.heavy_tailed:
        raise UserError(
            f'config {config.filename}: its prediction is a Student-t, and only Gaussians can be '
            'distilled'
        )
    made = Config(copy.deepcopy(config._cfg_dict), filename=config.filename)
    made.model.head.covariance = dict(type=settings.covariance, floor=head.covariance.floor)
    made.model.head.objective = dict(type='NLLObjective')
    made.model.head.heatmap_evidence = True
    made.custom_hooks = [
        hook for hook in made.get('custom_hooks') or [] if hook['type'] not in PHASE_HOOKS
    ]
    made.resume = False
    return made


def _with_weights_of(teacher: Any, made: Config, device: torch.device) -> Any:
    """The student, with every weight of the teacher but those of the covariance."""
    try:
        student, _ = load_network(made, None, str(device))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f'the covariance of the student: {launch.one_line(error)}') from error
    if student.head.covariance.taylor_order is not None:
        raise UserError('the covariance of the student must not need Taylor terms')
    kept = {k: v for k, v in teacher.state_dict().items() if not k.startswith(BRANCH)}
    result = student.load_state_dict(kept, strict=False)
    lost = [key for key in result.missing_keys if not key.startswith(BRANCH)]
    assert not lost, lost
    return student


def guarded(config: Config, name: str, settings: DistillSettings, view: int = 0) -> Any:
    """The loader of one pass over a split, in order; bad samples are left out and counted."""
    own = config.get(f'{name}_dataloader')
    if own is None:
        raise UserError(f'config {config.filename} has no {name}_dataloader')
    dataset = copy.deepcopy(own.dataset)
    if 'file' in dataset:
        dataset.file = None  # pseudo-labels: nothing here reads them
    seed = settings.training.seed + view
    for seeded in (random.seed, np.random.seed, torch.manual_seed):
        seeded(seed)
    loader = dict(
        batch_size=settings.batch_size,
        num_workers=settings.workers,
        sampler=dict(type='DefaultSampler', shuffle=False),
        worker_init_fn=dict(type=start_worker, seed=seed, rank=0),
        dataset=dataset,
    )
    try:
        return guarded_loader(loader, quarantine_for(config, name), Runner.build_dataloader)
    except (OSError, KeyError, TypeError, ValueError, AssertionError) as error:
        raise UserError(f'{name} data: {launch.one_line(error)}') from error


@torch.no_grad()
def observe(
    model: Any, config: Config, name: str, settings: DistillSettings, progress: bool = True
) -> TensorRows:
    """The outputs of the teacher for the people of a split, and the errors of its mean.

    z (N, m), evidence (N, 8K), teacher (N, d, d), residual and mask (N, d), in heatmap units.
    """
    parts: dict[str, list[Tensor]] = {}
    for view in range(settings.views if name == 'train' else 1):
        loader = guarded(config, name, settings, view)
        for batch in tqdm(loader, desc=f'teacher, {name}', disable=not progress):
            data = model.data_preprocessor(batch, False)
            features = model.extract_feat(data['inputs'])
            found = model.head.forward(features)
            labels = PoseLabels.stacked(data['data_samples'], model.head.objective)
            target, mask = labels.target.to(found.mean), labels.mask.to(found.mean.device)
            values = dict(
                z=model.head.bottleneck(features[-1])[0].float(),
                evidence=map_statistics(found.heatmaps.float()).flatten(1),
                teacher=found.covariance.matrix,
                residual=torch.where(mask, target - found.mean, 0.0),
                mask=mask,
            )
            for key, value in values.items():
                parts.setdefault(key, []).append(value.cpu())
    if not parts:
        raise UserError(f'{name} data: no person to learn from')
    return TensorRows(**{key: torch.cat(values) for key, values in parts.items()})


@torch.no_grad()
def _judge(
    student: CovarianceStudent, rows: dict[str, TensorRows], unchanged: float
) -> DistillReport:
    held = rows['test'].arrays
    residual, teacher, mask = held['residual'].double(), held['teacher'].double(), held['mask']
    own = student.cpu().eval().distribution(held['z'], held['evidence'], torch.float64).matrix
    zero = torch.zeros_like(residual)
    return DistillReport(
        people={name: len(part) for name, part in rows.items()},
        teacher=negative_log_likelihood(residual, teacher, mask).mean().item(),
        student=negative_log_likelihood(residual, own, mask).mean().item(),
        divergence=kl_divergence(zero, teacher, zero, own).mean().item(),
        unchanged=unchanged,
    )


@torch.no_grad()
def _largest_difference(
    teacher: Any, student: Any, config: Config, settings: DistillSettings
) -> float:
    """The largest difference between the means of the two models, in heatmap units."""
    largest, seen = 0.0, 0
    for batch in guarded(config, 'test', settings):
        data = teacher.data_preprocessor(batch, False)
        means = [
            model.head.forward(model.extract_feat(data['inputs'])).mean
            for model in (teacher, student)
        ]
        largest = max(largest, float((means[0] - means[1]).abs().max()))
        seen += len(means[0])
        if seen >= CHECKED:
            break
    return largest
