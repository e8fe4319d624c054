# LSPET as feature maps of a frozen backbone (tools/feature_views.py): four fifths to train on, a
# tenth to choose by (validation), a tenth held out to test on.
dataset_type = 'LSPETDataset'
data_mode = 'topdown'
codec = dict(
    type='SoftArgmaxCodec', input_size=(256, 256), heatmap_size=(32, 32), sigma=1, stride=8
)
crop = [  # a box has a margin of 10% around the joints: the crop is 1.25 times the joints' extent
    dict(type='LoadPoseImage'),
    dict(type='GetBBoxCenterScale', padding=1.25 / 1.2),
    dict(type='CovarianceTopdownAffine', input_size=codec['input_size'], use_udp=True),
]
train_pipeline = [
    *crop,
    dict(type='CovarianceRandomAffine', shift=0.1, scale=0.25, rotate=40),
]
from_maps = [dict(type='GenerateTarget', encoder=codec), dict(type='PackPoseInputs')]
split = dict(type=dataset_type, heldout=0.1, validation=0.1, split_seed=0)


train_dataloader = dict(
    batch_size=32,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(
        type='FeatureViewDataset',
        folder='data/features/lspet',
        views=1,
        file=None,
        recipe=dict(dimension=32),
        dataset=dict(split, split='fit'),
        pipeline=from_maps,
    ),
)
val_dataloader = dict(
    batch_size=32,
    num_workers=0,
    drop_last=False,
    sampler=dict(type='DefaultSampler', shuffle=False, round_up=False),
    dataset=dict(
        type='FeatureViewDataset',
        folder='data/features/lspet-validation',
        dataset=dict(split, split='validation'),
        pipeline=from_maps,
        test_mode=True,
    ),
)
test_dataloader = dict(
    val_dataloader,
    dataset=dict(
        val_dataloader['dataset'],
        folder='data/features/lspet-heldout',
        dataset=dict(split, split='heldout'),
    ),
)
val_evaluator = dict(
    type='HeteroscedasticPoseMetric',
    heatmap_size=(32, 32),
    use_udp=False,  # cells of 8 pixels
    head_joints=(12, 13),
    pck_thresholds=(0.05, 0.1, 0.2),
    joint_box=True,
)
test_evaluator = val_evaluator
