# ResNet-50 with three deconvolutions, as in mmpose's simple baseline.
model = dict(
    type='TopdownPoseEstimator',
    data_preprocessor=dict(
        type='PoseDataPreprocessor',
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True,
    ),
    backbone=dict(
        type='ResNet',
        depth=50,
        init_cfg=dict(type='Pretrained', checkpoint='torchvision://resnet50'),
    ),
    head=dict(
        type='HeteroscedasticHead',
        in_channels=2048,
        out_channels=14,
        covariance=dict(type='TaylorInducedCovariance', order='gradient', floor=1e-2),
        objective=dict(type='NLLObjective'),
    ),
    test_cfg=dict(flip_test=True),
)
