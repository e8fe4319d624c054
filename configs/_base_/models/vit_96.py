# A ViT that trains on a CPU in minutes, for 128×128 images and 32×32 heatmaps.
model = dict(
    type='TopdownPoseEstimator',
    data_preprocessor=dict(
        type='PoseDataPreprocessor',
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True,
    ),
    backbone=dict(
        type='mmpretrain.VisionTransformer',
        arch=dict(embed_dims=96, num_layers=4, num_heads=4, feedforward_channels=384),
        img_size=128,
        patch_size=16,
        qkv_bias=True,
        with_cls_token=False,
        out_type='featmap',
    ),
    head=dict(
        type='HeteroscedasticHead',
        in_channels=96,
        out_channels=14,
        deconv_out_channels=(32, 16),
        deconv_kernel_sizes=(4, 4),
        covariance=dict(type='TaylorInducedCovariance', order='gradient', floor=1e-3),
        objective=dict(type='NLLObjective'),
    ),
    test_cfg=dict(flip_test=False),
)
