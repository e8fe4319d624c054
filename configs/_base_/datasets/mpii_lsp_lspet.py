# MPII (persons with all joints), the first half of LSP and LSPET, merged to LSP's 14 joints.
# The second half of LSP, which none of them contains, is held out.
dataset_type = 'MergedDataset'
data_mode = 'topdown'
codec = dict(type='SoftArgmaxCodec', input_size=(256, 256), heatmap_size=(64, 64), sigma=2)

train_pipeline = [
    dict(type='LoadPoseImage', on_error='skip'),
    dict(type='GetBBoxCenterScale'),
    dict(type='CovarianceTopdownAffine', input_size=codec['input_size'], use_udp=True),
    dict(type='CovarianceShiftScaleRotate', shift=0.2, scale=0.25, rotate=45),
    dict(type='GenerateTarget', encoder=codec),
    dict(type='PackPoseInputs'),
]
val_pipeline = [
    dict(type='LoadPoseImage'),
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
        recipe=dict(dimension=32),
        dataset=dict(
            type=dataset_type,
            datasets=[
                dict(type='MPII14Dataset'),
                dict(type='LSPDataset', split='first'),
                dict(type='LSPETDataset'),
            ],
        ),
        pipeline=train_pipeline,
    ),
)
val_dataloader = dict(
    batch_size=32,
    num_workers=2,
    persistent_workers=True,
    drop_last=False,
    sampler=dict(type='DefaultSampler', shuffle=False, round_up=False),
    dataset=dict(type='LSPDataset', split='second', test_mode=True, pipeline=val_pipeline),
)
test_dataloader = val_dataloader
