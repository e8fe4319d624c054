# MoveNet Thunder as Google published it, on the people of LSPET: a model to wrap, not to train.
# tools/convert_movenet.py movenet-thunder.json --estimator thunder.pth makes its checkpoint.
default_scope = 'mmpose'
custom_imports = dict(imports=['hetpose'])
half_range = 1 / 0.007843017578125  # the graph's own constant: pixels · it − 1
model = dict(
    type='TopdownPoseEstimator',
    data_preprocessor=dict(
        type='PoseDataPreprocessor', mean=[half_range] * 3, std=[half_range] * 3, bgr_to_rgb=True
    ),
    backbone=dict(type='MoveNet', width=1.75, out_indices=(3,)),
    head=dict(type='MoveNetHead', size=(64, 64)),
)
val_dataloader = dict(
    batch_size=32,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type='LSPETCocoDataset',
        test_mode=True,
        pipeline=[
            dict(type='LoadImage'),
            dict(type='GetBBoxCenterScale', padding=1.25),
            dict(type='TopdownAffine', input_size=(256, 256)),
            dict(type='PackPoseInputs'),
        ],
    ),
)
test_dataloader = val_dataloader
val_evaluator = test_evaluator = dict(type='PCKAccuracy', thr=0.1)
