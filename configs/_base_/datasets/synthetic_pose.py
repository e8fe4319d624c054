# SyntheticPose: rendered figures with a known label covariance. Needs no download.
dataset_type = 'SyntheticPose'
data_mode = 'topdown'
codec = dict(type='SoftArgmaxCodec', input_size=(128, 128), heatmap_size=(32, 32), sigma=2)

train_pipeline = [
    dict(type='LoadImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='CovarianceTopdownAffine', input_size=codec['input_size'], use_udp=True),
    dict(type='CovarianceShiftScaleRotate', shift=0.05, scale=0.1, rotate=15),
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
    batch_size=32,
    num_workers=2,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(
        type='PseudoLabelDataset',
        file=None,  # written by tools/pseudo_labels.py, for objectives with a target covariance
        recipe=dict(dimension=16),
        dataset=dict(type=dataset_type, length=8000, seed=0, image_size=128),
        pipeline=train_pipeline,
    ),
)
val_dataloader = dict(
    batch_size=32,
    num_workers=2,
    persistent_workers=True,
    drop_last=False,
    sampler=dict(type='DefaultSampler', shuffle=False, round_up=False),
    dataset=dict(
        type=dataset_type,
        length=1000,
        seed=1,
        image_size=128,
        test_mode=True,
        pipeline=val_pipeline,
    ),
)
test_dataloader = val_dataloader
