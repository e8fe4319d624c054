"""A model whose input is not square trains and validates."""

import numpy as np
import pytest
import torch
from helpers_pose import BACKBONE, head_config
from mmengine.config import Config
from mmengine.runner import Runner

INPUT, HEATMAP = (24, 32), (12, 16)


def config(covariance: dict, work_dir: str) -> Config:
    codec = dict(type='SoftArgmaxCodec', input_size=INPUT, heatmap_size=HEATMAP, sigma=1.5)
    pipeline = [
        dict(type='LoadImage'),
        dict(type='GetBBoxCenterScale'),
        dict(type='CovarianceTopdownAffine', input_size=INPUT, use_udp=True),
        dict(type='GenerateTarget', encoder=codec),
        dict(type='PackPoseInputs'),
    ]
    loader = dict(
        batch_size=4,
        num_workers=0,
        sampler=dict(type='DefaultSampler', shuffle=False),
        dataset=dict(type='SyntheticPose', length=8, image_size=64, pipeline=pipeline),
    )
    head = head_config(out_channels=14, decoder=codec, covariance=covariance)
    evaluator = [
        dict(type='HeteroscedasticPoseMetric', heatmap_size=HEATMAP),
        dict(type='CalibrationMetric'),
    ]
    return Config(
        dict(
            default_scope='mmpose',
            model=dict(
                type='TopdownPoseEstimator',
                data_preprocessor=dict(
                    type='PoseDataPreprocessor', mean=[0.0] * 3, std=[64.0] * 3
                ),
                backbone=dict(BACKBONE, img_size=(32, 24)),
                head=head,
                test_cfg=dict(flip_test=True),
            ),
            train_dataloader=loader,
            val_dataloader=loader,
            train_cfg=dict(by_epoch=True, max_epochs=1),
            val_cfg=dict(),
            val_evaluator=evaluator,
            optim_wrapper=dict(optimizer=dict(type='Adam', lr=1e-3)),
            randomness=dict(seed=0),
            work_dir=work_dir,
            log_level='ERROR',
        )
    )


@pytest.mark.parametrize(
    'covariance',
    [
        dict(type='TaylorInducedCovariance', order='gradient', floor=1e-3),
        dict(type='PrecisionCovariance'),
        dict(type='CholeskyCovariance'),
    ],
    ids=lambda covariance: covariance['type'],
)
def test_it_trains_and_validates(covariance: dict, tmp_path) -> None:
    runner = Runner.from_cfg(config(covariance, str(tmp_path)))
    runner.train()
    metrics = runner.val_loop.run()
    assert np.isfinite([metrics['pose/nll'], metrics['calibration/whole/nll']]).all()
    assert all(torch.isfinite(value).all() for value in runner.model.parameters())
