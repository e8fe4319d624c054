"""A tiny pose estimator and samples for it."""

import numpy as np
import torch
from mmengine.registry import init_default_scope
from mmengine.structures import InstanceData, PixelData
from mmpose.registry import MODELS
from mmpose.structures import PoseDataSample

from hetpose.models.codecs import SoftArgmaxCodec

init_default_scope('mmpose')  # the estimator builds its preprocessor in the default scope

JOINTS = 4
DIM = 2 * JOINTS
FLIP_INDICES = [1, 0, 2, 3]
CODEC = dict(type='SoftArgmaxCodec', input_size=(32, 32), heatmap_size=(16, 16), sigma=1.5)
BACKBONE = dict(
    type='mmpretrain.VisionTransformer',
    arch=dict(embed_dims=16, num_layers=1, num_heads=2, feedforward_channels=32),
    img_size=32,
    patch_size=8,
    with_cls_token=False,
    out_type='featmap',
)


def head_config(**changes) -> dict:
    """Config of a small HeteroscedasticHead: 4×4 features, 16×16 heatmaps."""
    config = dict(
        type='HeteroscedasticHead',
        in_channels=16,
        out_channels=JOINTS,
        deconv_out_channels=(12, 12),
        deconv_kernel_sizes=(4, 4),
        bottleneck_dim=6,
        covariance_width=16,
        covariance_blocks=1,
        decoder=CODEC,
        covariance=dict(type='FactorCovariance', floor=1e-2),
        objective=dict(type='NLLObjective'),
    )
    config.update(changes)
    return config


def estimator(test_cfg: dict | None = None, lively: bool = True, **changes) -> torch.nn.Module:
    """A TopdownPoseEstimator around the small head, with lively weights."""
    model = MODELS.build(
        dict(
            type='TopdownPoseEstimator',
            data_preprocessor=dict(type='PoseDataPreprocessor', mean=[0.0] * 3, std=[1.0] * 3),
            backbone=BACKBONE,
            head=head_config(**changes),
            test_cfg=test_cfg or dict(flip_test=False),
        )
    )
    model.init_weights()
    for layer in model.head.heatmap_decoder.modules():
        if isinstance(layer, torch.nn.Conv2d | torch.nn.ConvTranspose2d):
            torch.nn.init.normal_(layer.weight, std=0.1)  # mmpose starts with heatmaps of almost 0
    last = (
        None if model.head.covariance_branch.net is None else model.head.covariance_branch.net[-1]
    )
    if last is not None and lively:
        torch.nn.init.normal_(last.weight, std=0.1)  # a fresh head predicts Σ = I for every image
    return model


def sample(seed: int = 0, visible=None, pseudo: bool = True, scale=(40.0, 48.0)) -> PoseDataSample:
    """An annotated sample as a pipeline would pack it, with random joints and factors."""
    rng = np.random.default_rng(seed)
    keypoints = rng.uniform(4, 27, (1, JOINTS, 2)).astype(np.float32)
    visible = np.ones((1, JOINTS), np.float32) if visible is None else np.float32([visible])
    factor = rng.normal(size=(1, 2 * JOINTS, 2 * JOINTS)).astype(np.float32) if pseudo else None
    codec = SoftArgmaxCodec(**{k: v for k, v in CODEC.items() if k != 'type'})
    encoded = codec.encode(keypoints, visible, factor)
    data = PoseDataSample()
    data.gt_fields = PixelData(heatmaps=torch.as_tensor(encoded.pop('heatmaps')))
    data.gt_instance_labels = InstanceData(
        **{key: torch.as_tensor(value) for key, value in encoded.items()}
    )
    centre, scale, size = np.float32([50, 60]), np.float32(scale), np.float32([32, 32])
    image = keypoints / (size - 1) * scale + centre - scale / 2
    data.gt_instances = InstanceData(
        bboxes=np.float32([[30, 36, 70, 84]]),
        bbox_scores=np.ones(1, np.float32),
        keypoints=image,
        keypoints_visible=visible,
    )
    data.set_metainfo(
        dict(
            input_size=(32, 32),
            input_center=centre,
            input_scale=scale,
            flip_indices=FLIP_INDICES,
            img_shape=(32, 32),
        )
    )
    return data
