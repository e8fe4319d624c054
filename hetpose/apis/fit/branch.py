"""Train the covariance of a HeteroscedasticHead whose mean stays as it is, in a minute.

What the covariance network reads does not change meanwhile, so it is computed once.

Axes: N people, d = 2K, m entries of z, n of the heatmaps' statistics.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmengine.model import BaseModel
from mmpose.registry import DATASETS
from torch import Tensor
from torch.utils.data import DataLoader
from tqdm import tqdm

from hetpose.apis.fit.training import TrainingSettings, train_rows
from hetpose.apis.loading import build_network
from hetpose.datasets.pose.error_rows import ErrorRows
from hetpose.engine.checkpoint import check_fit, read_checkpoint, weights_of
from hetpose.engine.launch import load_config
from hetpose.engine.phases import start_weights
from hetpose.errors import UserError
from hetpose.fileio import atomic_path
from hetpose.models.heads import HeteroscedasticHead
from hetpose.models.heads.error_model import likelihood
from hetpose.ops.covariance import Covariance
from hetpose.ops.moments import pair_sums, residual_covariance


class BranchModel(BaseModel):
    """The covariance branch of a head and its objective, on rows of [z, statistics] (N, m + n)."""

    def __init__(self, head: HeteroscedasticHead, inputs: int) -> None:
        super().__init__()
        self.branch, self.objective, self.inputs = head.covariance_branch, head.objective, inputs

    def distribution(self, evidence: Tensor) -> Covariance:
        """Evidence (B, m + n) → Σ (B, d, d)."""
        z, statistics = evidence[:, : self.inputs], evidence[:, self.inputs :]
        return self.branch(z, None, torch.float32, statistics)

    def forward(
        self, evidence: Tensor, residual: Tensor, mask: Tensor, mode: str = 'tensor'
    ) -> Any:
        """The loss, or the likelihood, of residuals (B, d) with mask (B, d)."""
        covariance = self.distribution(evidence)
        if mode == 'loss':
            zero = torch.zeros_like(residual)
            return dict(loss=self.objective(zero, residual, covariance, None, mask).mean())
        return [dict(nll=likelihood(covariance, residual, mask))]


@torch.no_grad()
def branch_rows(model: Any, dataset: Any, batch_size: int = 32, title: str = '') -> ErrorRows:
    """The inputs of a model's covariance branch over a data set, and the errors of its mean."""
    seen: list[tuple[Tensor, ...]] = []
    head = model.head

    def read(_branch: Any, given: tuple) -> None:
        z, terms, _dtype, statistics = given
        if terms is not None:
            raise UserError('a covariance with Taylor terms is not trained by itself')
        seen.append((z if statistics is None else torch.cat([z, statistics], dim=1),))

    def judge(_objective: Any, given: tuple) -> None:
        mean, target, _covariance, _root, mask = given
        seen[-1] = (*seen[-1], target - mean, mask)

    handles = [
        head.covariance_branch.register_forward_pre_hook(read),
        head.objective.register_forward_pre_hook(judge),
    ]
    try:
        loader = DataLoader(dataset, batch_size, collate_fn=pseudo_collate)
        for batch in tqdm(loader, desc=title, disable=not title):
            data = model.data_preprocessor(batch, False)
            head.loss(model.extract_feat(data['inputs']), data['data_samples'])
    finally:
        for handle in handles:
            handle.remove()
    evidence, residual, mask = (torch.cat(part) for part in zip(*seen, strict=True))
    return ErrorRows(evidence, residual, mask)


def fit_branch(
    config: str | Path | Config,
    checkpoint: str | Path,
    out: str | Path,
    settings: TrainingSettings | None = None,
    options: dict[str, Any] | list[str] | None = None,
    progress: bool = True,
) -> float:
    """Train the covariance of a config's head on the mean of a checkpoint, and write a checkpoint.

    The epoch is chosen by the validation data; their NLL is returned, in nats per person, in
    heatmap units and without a flip test.
    """
    settings = settings or TrainingSettings()
    config = config if isinstance(config, Config) else load_config(config, options)
    torch.manual_seed(settings.seed)
    model = _start(config, checkpoint)
    sets = {part: _dataset(config, part) for part in ('train', 'val')}
    rows = {k: branch_rows(model, v, title=k if progress else '') for k, v in sets.items()}
    known = rows['train'].arrays
    anchor = model.head.covariance.residual_anchor
    if anchor is not None:
        sums = pair_sums(known['residual'].double(), known['mask'])
        anchor.set_anchor(residual_covariance(*sums, shrink=True).float())
    branch = BranchModel(model.head, model.head.bottleneck_dim)
    folder = Path(out).with_suffix('')
    best = train_rows(branch, rows['train'], rows['val'], folder, settings, 'fit', progress)
    with atomic_path(out) as temporary:
        meta = dict(dataset_meta=sets['train'].metainfo)
        torch.save(dict(state_dict=model.eval().state_dict(), meta=meta), temporary)
    return best


def _start(config: Config, checkpoint: str | Path) -> Any:
    """The config's model with the weights of a checkpoint, but for its covariance."""
    model = build_network(config)
    if not isinstance(getattr(model, 'head', None), HeteroscedasticHead):
        raise UserError(f'config {config.filename}: its head is no HeteroscedasticHead')
    content = read_checkpoint(checkpoint)
    weights = start_weights(model, weights_of(content))
    weights = {k: v for k, v in weights.items() if '.covariance_branch.' not in k}
    check_fit(model, dict(state_dict=weights), checkpoint, whole=False)
    model.load_state_dict(weights, strict=False)
    return model


def _dataset(config: Config, part: str) -> Any:
    return DATASETS.build(copy.deepcopy(config[f'{part}_dataloader'].dataset))
