# SyntheticPose: rendered figures with a known label covariance. Needs no download.
_base_ = ['../loaders.py']
dataset_type = 'SyntheticPose'
data_mode = 'topdown'
codec = dict(type='SoftArgmaxCodec', input_size=(128, 128), heatmap_size=(32, 32), sigma=2)

train_pipeline = [
    dict(type='LoadImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='CovarianceTopdownAffine', input_size=codec['input_size'], use_udp=True),
    dict(type='CovarianceRandomAffine', shift=0.05, scale=0.1, rotate=15),
    dict(type='GenerateTarget', encoder=codec),
    dict(type='PackPoseInputs'),
]
val_pipeline = [
    dict(type='LoadImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='CovarianceTopdownAffine', input_size=codec['input_size'], use_udp=True),
    dict(type='GenerateTarget', encoder=codec),
    dict(type='PackPoseInputs'),
]

train_dataloader = dict(
    dataset=dict(
        recipe=dict(dimension=16),
        dataset=dict(type=dataset_type, length=8000, seed=0, image_size=128),
        pipeline=train_pipeline,
    ),
)
val_dataloader = dict(
    dataset=dict(
        type=dataset_type,
        length=1000,
        seed=2,
        image_size=128,
        pipeline=val_pipeline,
    ),
)
test_dataloader = dict(
    dataset=dict(
        type=dataset_type,
        length=1000,
        seed=1,  # no figure of the test chooses a checkpoint
        image_size=128,
        pipeline=val_pipeline,
    ),
)
val_evaluator = dict(type='HeteroscedasticPoseMetric', heatmap_size=(32, 32), head_joints=(12, 13))
test_evaluator = val_evaluator
