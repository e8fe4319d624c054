"""Fit error models on cached errors, through the mmengine Runner.

Axes: N people, K joints, d = 2K, F pooled features.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch import Tensor
from tqdm import tqdm

from hetpose.apis.fit.cache import Errors
from hetpose.datasets.pose.error_rows import ErrorRows, TensorRows
from hetpose.errors import UserError
from hetpose.models.heads.error_model import UNITS, ErrorModel
from hetpose.ops.moments import pair_sums, residual_covariance

PRIOR = 0.1
"""What the anchor counts in a fit: it keeps Σ above a tenth of the anchor, gross errors or not."""


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of the training of an error model."""

    epochs: int = 30
    batch_size: int = 128
    lr: float = 5e-4
    weight_decay: float = 0.05
    patience: int = 8
    seed: int = 0


class _Progress(Hook):
    """A bar over the epochs."""

    def __init__(self, title: str, epochs: int, wanted: bool) -> None:
        self.bar = tqdm(total=epochs, desc=title, disable=not wanted)

    def after_train_epoch(self, runner) -> None:
        self.bar.update()

    def after_val_epoch(self, runner, metrics: dict[str, float] | None = None) -> None:
        self.bar.set_postfix(nll=f'{(metrics or {})["nll"]:.2f}')

    def after_train(self, runner) -> None:
        self.bar.close()


def scaled(errors: Errors) -> tuple[Tensor, Tensor]:
    """Residuals (N, d) in per cent of the crop's longer side, and mask (N, d)."""
    residual = (
        torch.as_tensor(errors.residual) * (UNITS / torch.as_tensor(errors.side))[:, None, None]
    )
    mask = torch.as_tensor(errors.mask).repeat_interleave(2, dim=-1)
    return residual.flatten(1), mask


def check_enough(fit: Errors) -> None:
    """Refuse fewer people than the anchor, a full covariance of d numbers, needs."""
    needed = 2 * fit.mask.shape[1] + 1
    if len(fit) < needed:
        raise UserError(
            f'{len(fit)} labelled people are left to fit on; the covariance of '
            f'{fit.mask.shape[1]} joints needs at least {needed}'
        )


@torch.no_grad()
def prepare(
    errors: ErrorModel, fit: Errors, diagonal: bool = False, evidence: bool = True
) -> None:
    """Set what is not trained from the people of the fit: projection, scale and anchor.

    ``diagonal`` leaves the covariances out of the anchor; without ``evidence`` projection and
    scale stay as they are.
    """
    if evidence:
        _project(errors, fit)
        errors.set_scale(rows(errors, fit).arrays['evidence'])
    constant = constant_covariance(fit)
    anchor = torch.diag(constant.diagonal()) if diagonal else constant
    holder: Any = getattr(errors.covariance, 'residual_anchor', errors.covariance)
    holder.set_anchor(anchor.float())


def _project(errors: ErrorModel, fit: Errors) -> None:
    """Give the model the principal components of the pooled features."""
    from sklearn.decomposition import PCA

    pooled = fit.pooled.astype('float32')
    wanted = min(len(errors.projection), len(pooled) - 1)
    solver = 'randomized' if wanted < min(pooled.shape) else 'full'
    pca = PCA(wanted, svd_solver=solver, random_state=0).fit(pooled)
    errors.set_projection(torch.as_tensor(pca.mean_), torch.as_tensor(pca.components_))


@torch.no_grad()
def share_evidence(source: ErrorModel, target: ErrorModel) -> None:
    """Let a model read the evidence as another one does: projection and scale."""
    target.feature_mean.copy_(source.feature_mean)
    target.projection.copy_(source.projection)
    target.standardise.load_state_dict(source.standardise.state_dict())


def constant_covariance(errors: Errors) -> Tensor:
    """One covariance (d, d) of all errors, in per cent of the crop's longer side, squared."""
    return residual_covariance(*pair_sums(*scaled(errors)), shrink=True)


@torch.no_grad()
def rows(model: ErrorModel, errors: Errors) -> ErrorRows:
    """The people as the model sees them."""
    pooled = torch.as_tensor(errors.pooled.astype('float32'))
    evidence = model.evidence(pooled, torch.as_tensor(errors.statistics).float())
    residual, mask = scaled(errors)
    return ErrorRows(evidence, residual.float(), mask)


def train(
    model: ErrorModel,
    fit: Errors,
    validation: Errors,
    work_dir: Path,
    settings: TrainingSettings,
    title: str = 'fit',
    progress: bool = True,
) -> float:
    """Train a prepared error model; it ends with the weights of the lowest validation NLL.

    Returns that NLL, in nats per person.
    """
    return train_rows(
        model, rows(model, fit), rows(model, validation), work_dir, settings, title, progress
    )


def train_rows(
    model: BaseModel,
    known: TensorRows,
    held: TensorRows,
    work_dir: Path,
    settings: TrainingSettings,
    title: str = 'fit',
    progress: bool = True,
) -> float:
    """Train a model on rows that are its arguments, as ``train`` does."""
    batch = min(settings.batch_size, max(2, len(known) // 2))
    loader: dict[str, Any] = dict(batch_size=batch, collate_fn=dict(type='whole_batch'))
    runner = Runner(
        model=model,
        work_dir=str(work_dir),
        experiment_name=f'{title}-{id(model)}',
        train_dataloader=dict(
            loader,
            dataset=known,
            sampler=dict(type='DefaultSampler', shuffle=True),
            drop_last=len(known) % batch == 1,
        ),
        val_dataloader=dict(
            loader,
            dataset=held,
            sampler=dict(type='DefaultSampler', shuffle=False),
        ),
        train_cfg=dict(by_epoch=True, max_epochs=settings.epochs),
        val_cfg=dict(),
        val_evaluator=dict(type='LikelihoodMetric'),
        optim_wrapper=dict(
            optimizer=dict(type='AdamW', lr=settings.lr, weight_decay=settings.weight_decay),
            clip_grad=dict(max_norm=10.0),
        ),
        param_scheduler=dict(
            type='CosineAnnealingLR', T_max=settings.epochs, eta_min_ratio=0.02, by_epoch=True
        ),
        custom_hooks=[
            dict(type='KeepLowestHook', monitor='nll', patience=settings.patience),
            _Progress(title, settings.epochs, progress),
        ],
        default_hooks=dict(checkpoint=None, logger=dict(type='LoggerHook', interval=10**6)),
        randomness=dict(seed=settings.seed),
        log_level='WARNING',
        default_scope='mmpose',
    )
    runner.train()
    model.eval()
    return next(hook.best for hook in runner.hooks if hasattr(hook, 'best'))
