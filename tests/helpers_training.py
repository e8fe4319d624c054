"""A pose run of seconds with everything that a resume could lose."""

from pathlib import Path

import torch
from mmengine.config import Config

from hetpose.engine import launch

ROOT = Path(__file__).resolve().parent.parent
POSE = 'configs/pose/td-hybrid_vit-96x4_1xb32-8e_synthetic-128x128.py'
STEPS = 3  # of an epoch


def pose_config(folder: Path, workers: int = 0, epochs: int = 3, switch: int = 1) -> Config:
    """Augmentation, drop path, schedulers, a switch to an anchored covariance, validation."""
    config = launch.load_config(ROOT / POSE)
    config.model.backbone.update(
        arch=dict(embed_dims=16, num_layers=1, num_heads=2, feedforward_channels=32),
        drop_rate=0.1,
    )
    config.model.head.update(in_channels=16, deconv_out_channels=(8, 8), covariance_width=16)
    config.model.head.objective = dict(type='NLLObjective')
    config.model.head.covariance = dict(type='FactorCovariance', floor=1e-3)
    anchored = dict(
        epoch=switch,
        objective=dict(type='AnchoredNLLObjective', prior=0.1),
        covariance=dict(type='AnchoredCovariance', floor=1e-3),
    )
    config.custom_hooks = [
        dict(type='ObjectiveSwitchHook', switches=[anchored]),
        dict(type='TrainingLossPlateauHook', patience=1),
        dict(type='RefreshAnchorHook'),
    ]
    config.param_scheduler = [
        dict(type='LinearLR', start_factor=0.1, begin=0, end=STEPS, by_epoch=False),
        dict(type='LinearLR', start_factor=0.1, begin=switch, end=switch + 1, by_epoch=True,
             convert_to_iter_based=True),
    ]  # fmt: skip
    config.train_cfg = dict(by_epoch=True, max_epochs=epochs, val_interval=1)
    config.train_dataloader.dataset.dataset.length = 4 * STEPS
    config.val_dataloader.dataset.length = config.test_dataloader.dataset.length = 4
    for loader in (config.train_dataloader, config.val_dataloader, config.test_dataloader):
        loader.update(batch_size=4, num_workers=workers, persistent_workers=False)
    config.default_hooks.checkpoint.update(interval=1, max_keep_ckpts=-1, save_best=None)
    config.work_dir = str(folder / 'run')
    config.log_level = 'ERROR'
    return config


def train(config: Config) -> dict[str, torch.Tensor]:
    """The weights that a run ends with."""
    runner = launch.build_runner(config)
    launch.build_dataloaders(runner, 'train', 'val')
    runner.train()
    return {name: value.clone() for name, value in runner.model.state_dict().items()}


def differing(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> list[str]:
    """Names of the weights that are not equal bit for bit."""
    assert set(one) == set(other)
    return [name for name in one if not torch.equal(one[name], other[name])]
