# ViTPose-B as in mmpose, for 256×256 images, with a Taylor-induced covariance on the bottleneck.
model = dict(
    type='TopdownPoseEstimator',
    data_preprocessor=dict(
        type='PoseDataPreprocessor',
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True,
    ),
    backbone=dict(
        type='PoseVisionTransformer',
        arch='base',
        img_size=(256, 256),
        patch_size=16,
        qkv_bias=True,
        drop_path_rate=0.3,
        with_cls_token=False,
        out_type='featmap',
        patch_cfg=dict(padding=2),
        init_cfg=dict(
            type='Pretrained',
            checkpoint='https://download.openmmlab.com/mmpose/'
            'v1/pretrained_models/mae_pretrain_vit_base_20230913.pth',
        ),
    ),
    head=dict(
        type='HeteroscedasticHead',
        in_channels=768,
        out_channels=14,
        deconv_out_channels=(256, 256),
        deconv_kernel_sizes=(4, 4),
        covariance=dict(type='TaylorInducedCovariance', order='gradient', floor=1e-2),
        objective=dict(type='NLLObjective'),
    ),
    test_cfg=dict(flip_test=True),
)
