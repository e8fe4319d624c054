# A ViT that trains on a CPU: 64 wide, 12 layers, for 256×256 images and 64×64 heatmaps.
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
        arch=dict(embed_dims=64, num_layers=12, num_heads=4, feedforward_channels=256),
        img_size=256,
        patch_size=16,
        qkv_bias=True,
        with_cls_token=False,
        out_type='featmap',
    ),
    head=dict(
        type='HeteroscedasticHead',
        in_channels=64,
        out_channels=14,
        deconv_out_channels=(64, 64),
        deconv_kernel_sizes=(4, 4),
        covariance=dict(type='TaylorInducedCovariance', order='gradient', floor=1e-2),
        objective=dict(type='NLLObjective'),
    ),
    test_cfg=dict(flip_test=True),
)
