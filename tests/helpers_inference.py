"""A tiny pose model as a config file and a checkpoint, and pictures to predict on."""

from pathlib import Path

import cv2
import numpy as np
import torch
from helpers_pose import BACKBONE, CODEC, head_config
from mmengine.config import Config
from mmpose.registry import MODELS

from hetpose.apis.loading import PoseModel, load_pose_model

NAMES = ['left_wrist', 'right_wrist', 'neck', 'head']
SWAPS = ['right_wrist', 'left_wrist', '', '']
BONES = [('left_wrist', 'neck'), ('right_wrist', 'neck'), ('neck', 'head')]
METAINFO = dict(
    dataset_name='tiny',
    keypoint_info={
        k: dict(name=name, id=k, color=[0, 0, 0], type='', swap=SWAPS[k])
        for k, name in enumerate(NAMES)
    },
    skeleton_info={k: dict(link=bone, id=k, color=[0, 0, 0]) for k, bone in enumerate(BONES)},
    joint_weights=[1.0] * 4,
    sigmas=[0.1] * 4,
)


def tiny_config(test_cfg: dict | None = None, **head_changes) -> Config:
    """A top-down model of 4 joints, 32×32 input, 16×16 heatmaps, with mmpose's test pipeline."""
    pipeline = [
        dict(type='LoadImage'),
        dict(type='GetBBoxCenterScale'),
        dict(type='TopdownAffine', input_size=(32, 32), use_udp=True),
        dict(type='GenerateTarget', encoder=CODEC),
        dict(type='PackPoseInputs'),
    ]
    dataset = dict(type='CocoDataset', metainfo=METAINFO, pipeline=pipeline)
    return Config(
        dict(
            default_scope='mmpose',
            custom_imports=dict(imports=['hetpose']),
            model=dict(
                type='TopdownPoseEstimator',
                data_preprocessor=dict(
                    type='PoseDataPreprocessor',
                    mean=[123.675, 116.28, 103.53],
                    std=[58.395, 57.12, 57.375],
                    bgr_to_rgb=True,
                ),
                backbone=BACKBONE,
                head=head_config(**head_changes),
                test_cfg=test_cfg or dict(flip_test=False),
            ),
            test_dataloader=dict(batch_size=1, dataset=dataset),
        )
    )


def write_tiny(folder: Path, name: str = 'tiny', seed: int = 0, **changes) -> tuple[Path, Path]:
    """Config and checkpoint files of the tiny model with lively random weights."""
    config = tiny_config(**changes)
    path, checkpoint = folder / f'{name}.py', folder / f'{name}-{seed}.pth'
    config.dump(str(path))
    torch.manual_seed(seed)
    network = MODELS.build(config.model)
    for layer in network.head.heatmap_decoder.modules():
        if isinstance(layer, torch.nn.Conv2d | torch.nn.ConvTranspose2d):
            torch.nn.init.normal_(layer.weight, std=0.1)
    for parameter in network.head.covariance_branch.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.3)  # else Σ is the same for every image
    torch.save(dict(state_dict=network.state_dict(), meta={}), checkpoint)
    return path, checkpoint


def tiny_model(folder: Path, **changes) -> PoseModel:
    return load_pose_model(*write_tiny(folder, **changes), device='cpu')


def noise_image(height: int = 60, width: int = 80, seed: int = 0) -> np.ndarray:
    """A smooth random picture, BGR."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)


def write_images(folder: Path, count: int = 3) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f'{i}.png' for i in range(count)]
    for i, path in enumerate(paths):
        cv2.imwrite(str(path), noise_image(60 + 10 * i, 80, seed=i))
    return paths


def write_video(path: Path, frames: int = 6) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*'MJPG'), 10.0, (80, 60))
    for i in range(frames):
        writer.write(noise_image(seed=i))
    writer.release()
    return path
