"""Tiny pose estimators with every kind of head that mmpose has for one person."""

import copy
import json
from pathlib import Path

import cv2
import numpy as np
import torch
from mmengine.config import Config
from mmengine.model import BaseModule
from mmengine.registry import init_default_scope
from mmengine.structures import InstanceData
from mmpose.registry import MODELS
from mmpose.structures import PoseDataSample

init_default_scope('mmpose')

JOINTS = 4
SIZE = (48, 64)  # of the input, (w, h)
MAP = (12, 16)
CHANNELS = 8
FLIP = [1, 0, 2, 3]
COVARIANCE = dict(type='AnchoredCovariance', floor=1e-4)
OBJECTIVE = dict(type='NLLObjective')


@MODELS.register_module(force=True)
class ToyBackbone(BaseModule):
    """Images (B, 3, 64, 48) → maps (B, 8, h, w) in the structure that a head asks for."""

    def __init__(self, structure: str = 'map', stride: int = 4, init_cfg=None) -> None:
        super().__init__(init_cfg)
        self.structure = structure
        self.conv = torch.nn.Conv2d(3, CHANNELS, stride, stride)
        self.norm = torch.nn.BatchNorm2d(CHANNELS)

    def forward(self, images):
        x = self.norm(self.conv(images)).relu()
        if self.structure == 'stages':
            return [x, 2 * x]
        if self.structure == 'units':
            return [[x, 2 * x], [x, 3 * x]]
        if self.structure == 'vector':
            return (x.mean((-2, -1), keepdim=True),)
        return (x,)


MSRA = dict(type='MSRAHeatmap', input_size=SIZE, heatmap_size=MAP, sigma=1.5)
UDP = dict(type='UDPHeatmap', input_size=SIZE, heatmap_size=MAP, sigma=1.5)
SIMCC = dict(type='SimCCLabel', input_size=SIZE, sigma=3.0, simcc_split_ratio=2.0)
PLAIN = dict(in_channels=CHANNELS, out_channels=JOINTS)
LOSS = dict(type='KeypointMSELoss', use_target_weight=True)
VECTOR = dict(in_channels=CHANNELS, num_joints=JOINTS)
INTEGRAL = dict(
    in_channels=CHANNELS, num_joints=JOINTS, in_featuremap_size=MAP, deconv_out_channels=None
)
HEADS = {
    'heatmap': ('map', dict(type='HeatmapHead', **PLAIN, deconv_out_channels=None, decoder=MSRA)),
    'udp': ('map', dict(type='HeatmapHead', **PLAIN, deconv_out_channels=None, decoder=UDP)),
    'udp_combined': (
        'map',
        dict(
            type='HeatmapHead',
            in_channels=CHANNELS,
            out_channels=3 * JOINTS,
            deconv_out_channels=None,
            loss=dict(type='CombinedTargetMSELoss', use_target_weight=True),
            decoder=dict(
                type='UDPHeatmap',
                input_size=SIZE,
                heatmap_size=MAP,
                blur_kernel_size=11,
                heatmap_type='combined',
            ),
        ),
    ),
    'vipnas': (
        'map',
        dict(type='ViPNASHead', **PLAIN, deconv_out_channels=None, decoder=MSRA),
    ),
    'cpm': (
        'stages',
        dict(
            type='CPMHead',
            **PLAIN,
            num_stages=2,
            deconv_out_channels=None,
            final_layer=dict(kernel_size=1),
            decoder=MSRA,
        ),
    ),
    'mspn': (
        'units',
        dict(
            type='MSPNHead',
            out_shape=(MAP[1], MAP[0]),
            unit_channels=CHANNELS,
            out_channels=JOINTS,
            num_stages=2,
            num_units=2,
            level_indices=[0, 1, 0, 1],
            loss=[LOSS] * 4,
            decoder=dict(type='MegviiHeatmap', input_size=SIZE, heatmap_size=MAP, kernel_size=5),
        ),
    ),
    'simcc': (
        'map',
        dict(
            type='SimCCHead',
            **PLAIN,
            input_size=SIZE,
            in_featuremap_size=MAP,
            simcc_split_ratio=2.0,
            deconv_out_channels=None,
            loss=dict(type='KLDiscretLoss', use_target_weight=True),
            decoder=SIMCC,
        ),
    ),
    'rtmcc': (
        'map',
        dict(
            type='RTMCCHead',
            **PLAIN,
            input_size=SIZE,
            in_featuremap_size=MAP,
            simcc_split_ratio=2.0,
            final_layer_kernel_size=3,
            gau_cfg=dict(
                hidden_dims=16,
                s=8,
                expansion_factor=2,
                dropout_rate=0.1,
                drop_path=0.0,
                act_fn='SiLU',
                use_rel_bias=False,
                pos_enc=False,
            ),
            loss=dict(type='KLDiscretLoss', use_target_weight=True),
            decoder=SIMCC,
        ),
    ),
    'regression': (
        'vector',
        dict(
            type='RegressionHead',
            **VECTOR,
            decoder=dict(type='RegressionLabel', input_size=SIZE),
        ),
    ),
    'rle': (
        'vector',
        dict(type='RLEHead', **VECTOR, decoder=dict(type='RegressionLabel', input_size=SIZE)),
    ),
    'dsnt': (
        'map',
        dict(
            type='DSNTHead',
            **INTEGRAL,
            loss=dict(
                type='MultipleLossWrapper',
                losses=[
                    dict(type='SmoothL1Loss', use_target_weight=True),
                    dict(type='KeypointMSELoss', use_target_weight=True),
                ],
            ),
            decoder=dict(
                type='IntegralRegressionLabel', input_size=SIZE, heatmap_size=MAP, sigma=2.0
            ),
        ),
    ),
    'integral': (
        'map',
        dict(
            type='IntegralRegressionHead',
            **INTEGRAL,
            decoder=dict(type='RegressionLabel', input_size=SIZE),
        ),
    ),
    'visibility': (
        'map',
        dict(
            type='VisPredictHead',
            pose_cfg=dict(type='HeatmapHead', **PLAIN, deconv_out_channels=None, decoder=MSRA),
        ),
    ),
}


def foreign_config(kind: str, **test_cfg) -> dict:
    """Config of a TopdownPoseEstimator around a head of mmpose."""
    structure, head = HEADS[kind]
    return dict(
        type='TopdownPoseEstimator',
        data_preprocessor=dict(type='PoseDataPreprocessor', mean=[0.0] * 3, std=[1.0] * 3),
        backbone=dict(type='ToyBackbone', structure=structure),
        head=copy.deepcopy(head),
        test_cfg=test_cfg,
    )


def wrapped_config(kind: str, test_cfg: dict | None = None, **changes) -> dict:
    """The same, with its head wrapped."""
    config = foreign_config(kind, **(test_cfg or {}))
    wrapper = dict(type='PosthocCovarianceHead', covariance=COVARIANCE, objective=OBJECTIVE)
    return dict(config, head=dict(wrapper, head=config['head'], **changes))


def build(config: dict, seed: int = 0) -> torch.nn.Module:
    """A model in evaluation mode, with lively weights."""
    torch.manual_seed(seed)
    model = MODELS.build(config)
    for name, layer in model.named_modules():
        own = name.startswith('head.errors')
        if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear) and not own:
            torch.nn.init.normal_(layer.weight, std=0.3)
    return model.eval()


def enliven(model: torch.nn.Module) -> None:
    """Let Σ vary: a fresh error model predicts one Σ for every image."""
    torch.manual_seed(7)
    torch.nn.init.normal_(model.head.errors.branch.net[-1].weight, std=0.01)


def sample(seed: int = 0, transformed: bool = True) -> PoseDataSample:
    """An annotated person in a crop of 96×128 image pixels; the last joint is not annotated."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(4, 44, (1, JOINTS, 2)).astype(np.float32)
    centre, scale = np.float32([100, 90]), np.float32([96, 128])
    image = places / np.float32(SIZE) * scale + centre - scale / 2
    data = PoseDataSample()
    data.gt_instances = InstanceData(
        bboxes=np.float32([[60, 30, 140, 150]]),
        bbox_scores=np.ones(1, np.float32),
        keypoints=image,
        keypoints_visible=np.float32([[1] * (JOINTS - 1) + [0]]),
    )
    if transformed:
        data.gt_instances.transformed_keypoints = places
    data.set_metainfo(
        dict(input_size=SIZE, input_center=centre, input_scale=scale, flip_indices=FLIP)
    )
    return data


def batch(count: int = 3) -> tuple[torch.Tensor, list[PoseDataSample]]:
    """Images (count, 3, 64, 48) and their samples."""
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(count, 3, SIZE[1], SIZE[0], generator=generator)
    return images, [sample(i) for i in range(count)]


def predict(model: torch.nn.Module) -> list:
    """Predicted instances of the batch."""
    images, samples = batch()
    with torch.no_grad():
        return [found.pred_instances for found in model.predict(images, samples)]


METAINFO = dict(
    dataset_name='toy',
    keypoint_info={
        k: dict(name=name, id=k, color=[255, 0, 0], type='upper', swap=swap)
        for k, (name, swap) in enumerate(
            [('left', 'right'), ('right', 'left'), ('top', ''), ('bottom', '')]
        )
    },
    skeleton_info={},
    joint_weights=[1.0] * JOINTS,
    sigmas=[0.05] * JOINTS,
)


def write_labels(folder: Path, count: int, names=('left', 'right', 'top', 'bottom')) -> Path:
    """Images of noise, two people each, whose joints are bright spots, in COCO's format."""
    rng = np.random.default_rng(3)
    (folder / 'images').mkdir(parents=True, exist_ok=True)
    images, annotations = [], []
    for i in range(count):
        picture = rng.integers(0, 60, (80, 120, 3)).astype(np.uint8)
        images.append(dict(id=i, file_name=f'{i}.png', width=120, height=80))
        for left in (8, 64):
            points = rng.uniform((left, 10), (left + 45, 70), (len(names), 2))
            for x, y in points.astype(int):
                picture[y - 2 : y + 3, x - 2 : x + 3] = 255
            seen = np.where(rng.random(len(names)) < 0.9, 2, 0)
            low, extent = points.min(0) - 4, np.ptp(points, axis=0) + 8
            annotations.append(
                dict(
                    id=len(annotations),
                    image_id=i,
                    category_id=1,
                    bbox=[*low.tolist(), *extent.tolist()],
                    area=float(extent.prod()),
                    keypoints=np.column_stack([points, seen]).ravel().tolist(),
                    num_keypoints=int((seen > 0).sum()),
                    iscrowd=0,
                )
            )
        cv2.imwrite(str(folder / 'images' / f'{i}.png'), picture)
    path = folder / 'labels.json'
    category = dict(id=1, name='toy', keypoints=list(names), skeleton=[])
    path.write_text(
        json.dumps(dict(images=images, annotations=annotations, categories=[category]))
    )
    return path


def write_foreign(folder: Path, kind: str, people: int = 40, **test_cfg) -> tuple[Path, Path]:
    """Config and checkpoint of a foreign model in a folder, with labelled images."""
    write_labels(folder, people // 2)
    model = foreign_config(kind, **test_cfg)
    pipeline = [
        dict(type='LoadImage'),
        dict(type='GetBBoxCenterScale'),
        dict(type='TopdownAffine', input_size=SIZE, use_udp=kind.startswith('udp')),
        dict(type='PackPoseInputs'),
    ]
    dataset = dict(
        type='CocoDataset',
        data_root=str(folder),
        data_mode='topdown',
        ann_file='labels.json',
        data_prefix=dict(img='images'),
        metainfo=METAINFO,
        test_mode=True,
        pipeline=pipeline,
    )
    loader = dict(
        batch_size=8,
        num_workers=0,
        sampler=dict(type='DefaultSampler', shuffle=False),
        dataset=dataset,
    )
    config = Config(
        dict(
            default_scope='mmpose',
            model=model,
            train_dataloader=dict(loader, dataset=dict(dataset, ann_file='other.json')),
            val_dataloader=dict(loader, dataset=dict(dataset, bbox_file='boxes.json')),
            test_dataloader=loader,
            val_evaluator=dict(type='CocoMetric', ann_file=str(folder / 'labels.json')),
            test_evaluator=dict(type='CocoMetric', ann_file=str(folder / 'labels.json')),
            optim_wrapper=dict(optimizer=dict(type='Adam', lr=1e-3)),
        )
    )
    config.dump(str(folder / 'foreign.py'))
    torch.save(dict(state_dict=build(model).state_dict()), folder / 'foreign.pth')
    return folder / 'foreign.py', folder / 'foreign.pth'
