"""From a config and a checkpoint to a model that predicts."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dataset import Compose
from mmengine.model import revert_sync_batchnorm
from mmengine.registry import init_default_scope
from mmpose.apis.inference import dataset_meta_from_config
from mmpose.registry import MODELS
from torch import nn

from hetpose.apis.shipped import resolve_model, without_init
from hetpose.engine import launch
from hetpose.engine.checkpoint import check_fit, read_checkpoint, weights_of
from hetpose.engine.config_file import check_config
from hetpose.engine.hooks.keep_best import kept_weights
from hetpose.engine.phases import enter_phase
from hetpose.errors import UserError


@dataclass(frozen=True)
class PoseModel:
    """A pose estimator in evaluation mode with its config and the meta information of its data."""

    network: Any
    config: Config
    meta: dict[str, Any]
    device: torch.device

    @property
    def name(self) -> str:
        """The config's name, as calibration files record it."""
        return Path(self.config.filename).stem if self.config.filename else 'unnamed'

    @property
    def joint_names(self) -> list[str]:
        """Names of the predicted joints, in the order of the predictions."""
        names = self.meta['keypoint_id2name']
        chosen = self.network.test_cfg.get('output_keypoint_indices')
        return [names[k] for k in (chosen if chosen is not None else range(len(names)))]

    @property
    def score_radius(self) -> float:
        """Radius of the score's disc as a fraction of the box's longer side."""
        return float(self.network.head.score_radius)

    def pipeline(self) -> Compose:
        """The transforms of the config's test data."""
        dataset = self.config.get('test_dataloader', {}).get('dataset', {})
        while 'pipeline' not in dataset and ('dataset' in dataset or 'datasets' in dataset):
            dataset = dataset['dataset'] if 'dataset' in dataset else dataset['datasets'][0]
        if not dataset.get('pipeline'):
            raise UserError(f'config {self.name} has no test_dataloader.dataset.pipeline')
        # Targets are for training and evaluation; they need annotated joints.
        steps = [step for step in dataset['pipeline'] if step.get('type') != 'GenerateTarget']
        return Compose(steps)


def load_pose_model(
    config: str | Path | Config,
    checkpoint: str | Path | None = None,
    device: str | None = None,
    options: dict[str, Any] | None = None,
) -> PoseModel:
    """Build the model of a config, with the weights of a checkpoint (None: random weights).

    ``config`` may also be the name of a model that comes with the package, such as ``human``; its
    weights are then the shipped ones unless a checkpoint is given.
    """
    if not isinstance(config, Config):
        config, checkpoint = resolve_model(config, checkpoint)
    if isinstance(config, Config):
        init_default_scope(config.get('default_scope', 'mmpose'))
        if options:
            config = copy.deepcopy(config)  # the caller's stays as it is
            config.merge_from_dict(options)
            check_config(config._cfg_dict)
    else:
        config = launch.load_config(config, options)
    if 'backbone' not in config.get('model', {}):
        raise UserError(f'config {config.filename}: its model is not a pose estimator')
    network, content = load_network(config, checkpoint, device)
    if not hasattr(network, 'head') or not hasattr(network.head, 'score_radius'):
        raise UserError(
            f'config {config.filename}: {type(getattr(network, "head", None)).__name__} predicts '
            'no covariance; use a config with HeteroscedasticHead'
        )
    meta = content.get('meta', {}).get('dataset_meta')
    meta = meta or dataset_meta_from_config(config, 'test') or dataset_meta_from_config(config)
    if not meta or 'keypoint_id2name' not in meta:
        raise UserError(
            f'config {config.filename}: neither it nor the checkpoint names the joints'
        )
    return PoseModel(network, config, meta, find_device(device))


def load_network(
    config: Config,
    checkpoint: str | Path | None = None,
    device: str | None = None,
    whole: bool = True,
) -> tuple[Any, dict[str, Any]]:
    """The model of a config in evaluation mode, and what its checkpoint holds.

    The model is in the phase that the checkpoint was saved in. Weights that KeepBestHook kept go
    before those of the last epoch, as in a test.

    Args:
        config: The complete config.
        checkpoint: The weights; None: the initial ones, and nothing is downloaded for them.
        device: cpu, cuda or cuda:N; None: a GPU if there is one.
        whole: Whether the checkpoint must hold every weight.
    """
    chosen = find_device(device)
    content: dict[str, Any] = {} if checkpoint is None else read_checkpoint(checkpoint)
    network = build_network(config)
    if checkpoint is not None:
        enter_phase(network, config, content)
        load_weights(network, content, checkpoint, whole)
        if any(hook['type'] == 'KeepBestHook' for hook in config.get('custom_hooks') or []):
            network.load_state_dict(kept_weights(content), strict=False)
    return network.to(chosen).eval(), content  # a phase may have brought in new parts


def build_network(config: Config, backbone_weights: bool = False) -> Any:
    """The model of a config in evaluation mode, with random weights.

    ``backbone_weights`` loads those that the ``init_cfg`` of its backbone names; no other file is
    read, and nothing is downloaded.
    """
    init_default_scope(config.get('default_scope', 'mmpose'))
    if 'model' not in config:
        raise UserError(f'config {config.filename}: it has no model')
    settings = copy.deepcopy(config.model)
    without_init(settings)
    if backbone_weights:
        settings.backbone.init_cfg = config.model.backbone.get('init_cfg')
    network: Any = revert_sync_batchnorm(MODELS.build(settings))
    if backbone_weights:
        network.backbone.init_weights()
    return network.eval()


def load_weights(
    network: nn.Module, content: dict[str, Any], checkpoint: str | Path, whole: bool = True
) -> None:
    """Load what a checkpoint file holds; with ``whole`` that must be every weight."""
    check_fit(network, content, checkpoint, whole)
    try:
        network.load_state_dict(weights_of(content), strict=False)
    except (RuntimeError, ValueError) as error:  # what the check takes for elastic
        raise UserError(f'checkpoint {checkpoint} cannot be loaded: {_first(error)}') from error


def _first(error: Exception) -> str:
    """One line: torch lists every weight that does not fit, under a heading."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith('Error(s) in loading'):
        more = f' (and {len(lines) - 2} more)' if len(lines) > 2 else ''
        return lines[1] + more
    return lines[0] if lines else type(error).__name__


def find_device(name: str | None) -> torch.device:
    """The named device, which must be usable; None: a GPU if there is one."""
    if name is None:
        return torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UserError(f'unknown device {name!r}: use cpu, cuda or cuda:N') from error
    if device.type == 'cuda' and not torch.cuda.is_available():
        raise UserError(f'device {name!r}: torch finds no GPU here; use --device cpu')
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # another GPU's number, a foreign kind
        raise UserError(f'device {name!r} cannot be used: {_first(error)}') from error
    return device
