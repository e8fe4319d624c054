# MoveNet Thunder, frozen, with a small neck and a linear heatmap head, for 256×256 images.
# Weights: python tools/convert_movenet.py movenet-thunder.json --out data/movenet/thunder.pth
model = dict(
    type='TopdownPoseEstimator',
    data_preprocessor=dict(
        type='FeaturePreprocessor',
        mean=[127.5, 127.5, 127.5],
        std=[127.5, 127.5, 127.5],
        bgr_to_rgb=True,
    ),
    backbone=dict(
        type='MoveNet',
        width=1.75,
        frozen_blocks=18,
        init_cfg=dict(type='Pretrained', checkpoint='data/movenet/thunder.pth', prefix='backbone'),
    ),
    neck=dict(
        type='PyramidFusion',
        in_channels=(64, 32, 24, 24),
        channels=64,
        blocks=2,
        heatmaps=dict(  # Thunder's own, of COCO's 17 joints
            type='MoveNetMapHead',
            outputs=17,
            init_cfg=dict(
                type='Pretrained',
                checkpoint='data/movenet/thunder.pth',
                prefix='heads.kpt_heatmap',
            ),
        ),
    ),
    head=dict(
        type='HeteroscedasticHead',
        in_channels=64,
        out_channels=14,
        deconv_out_channels=None,
        covariance=dict(type='TaylorInducedCovariance', order='gradient', floor=1e-2),
        objective=dict(type='NLLObjective'),
    ),
    test_cfg=dict(flip_test=True),
)
