"""Parts of a pose config that do not fit are named by key before the first step."""

import pytest
import torch
from helpers_pose import BACKBONE, CODEC, head_config
from mmengine.config import Config
from mmpose.registry import MODELS

from hetpose.engine.pose_setup import check_pose_config, check_pose_model
from hetpose.errors import UserError

JOINTS = {k: dict(name=str(k), id=k, color=[0, 0, 0], type='', swap='') for k in range(4)}
META = dict(
    dataset_name='four',
    paper_info={},
    keypoint_info=JOINTS,
    skeleton_info={},
    joint_weights=[1.0] * 4,
    sigmas=[0.1] * 4,
)


def config(**changes) -> Config:
    pipeline = [
        dict(type='LoadImage'),
        dict(type='GetBBoxCenterScale'),
        dict(type='TopdownAffine', input_size=(32, 32), use_udp=True),
        dict(type='GenerateTarget', encoder=dict(CODEC)),
        dict(type='PackPoseInputs'),
    ]
    made = Config(
        dict(
            model=dict(type='TopdownPoseEstimator', backbone=dict(BACKBONE), head=head_config()),
            train_dataloader=dict(
                dataset=dict(
                    type='BaseCocoStyleDataset', metainfo=dict(META), pipeline=list(pipeline)
                )
            ),
            custom_hooks=[dict(type='mmdet.PipelineSwitchHook', switch_pipeline=list(pipeline))],
        )
    )
    made.merge_from_dict(changes)
    return made


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({}, None),
        (
            {'train_dataloader.dataset.pipeline.3.encoder.sigma': 3},
            r'train_dataloader\.dataset\.pipeline\.3\.encoder .*sigma 3\.0 against 1\.5',
        ),
        (
            {'custom_hooks.0.switch_pipeline.3.encoder': dict(type='SimCCLabel', _delete_=True)},
            r'custom_hooks\.0\.switch_pipeline\.3\.encoder is a SimCCLabel',
        ),
        (
            {'train_dataloader.dataset.pipeline.2.use_udp': False},
            r'pipeline\.2\.use_udp is False, and model\.head\.decoder\.use_udp is True',
        ),
        (
            {'train_dataloader.dataset.pipeline.2.input_size': (32, 24)},
            r'pipeline\.2\.input_size is \(32, 24\)',
        ),
        ({'model.head.out_channels': 5}, r'model\.head\.out_channels is 5.*4 joints'),
        ({'model.head.decoder': None}, r'model\.head\.decoder is missing'),
        ({'model.head.decoder.sigma': -1}, r'model\.head\.decoder: sigma must be positive'),
        (
            {'model.test_cfg': dict(shift_heatmap=True)},
            r'test_cfg\.shift_heatmap is read by',
        ),
    ],
)
def test_a_config_that_contradicts_itself(changes: dict, message: str | None) -> None:
    made = config(**changes)
    if message is None:
        return check_pose_config(made)
    with pytest.raises(UserError, match=message) as error:
        check_pose_config(made)
    assert '\n' not in str(error.value)
    return None


def test_joints_are_counted_inside_wrappers() -> None:
    made = config()
    inner = made.train_dataloader.dataset
    made.train_dataloader.dataset = dict(
        type='PseudoLabelDataset', dataset=inner, pipeline=inner.pipeline
    )
    check_pose_config(made)
    made.model.head.out_channels = 6
    with pytest.raises(UserError, match='4 joints'):
        check_pose_config(made)


def test_other_models_are_left_alone() -> None:
    check_pose_config(Config(dict(model=dict(type='Anything'))))
    check_pose_config(Config(dict(model=dict(type='Anything', head=dict(type='HeatmapHead')))))
    check_pose_model(torch.nn.Linear(1, 1))


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({}, None),
        ({'head': head_config(in_channels=17)}, r'model\.head\.in_channels is 17.*have 16'),
        (
            {'head': head_config(decoder=dict(CODEC, heatmap_size=(32, 32)))},
            r'heatmap_size \(32, 32\).*features of 8×8.*gives 4×4',
        ),
        ({'neck': dict(type='GlobalAveragePooling')}, r'model\.neck: GlobalAveragePooling.*neck='),
        (
            {'backbone': dict(BACKBONE, out_type='avg_featmap')},
            r'model\.backbone: .*needs a feature map',
        ),
    ],
)
def test_features_that_the_head_cannot_take(changes: dict, message: str | None) -> None:
    parts = dict(backbone=BACKBONE, head=head_config()) | changes
    model = MODELS.build(dict(type='TopdownPoseEstimator', **parts))
    model.train()
    if message is None:
        check_pose_model(model)
        assert model.training
        assert model.backbone.training
        return
    with pytest.raises(UserError, match=message) as error:
        check_pose_model(model)
    assert '\n' not in str(error.value)
