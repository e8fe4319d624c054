# COCO's 17 joints through mmpose's own data set; any set in its format fits in its place. (Not
# called coco.py: mmpose would take that for its metainfo file.)
dataset_type = 'CocoDataset'
data_mode = 'topdown'
data_root = '{{$HETPOSE_DATA:data}}/coco/'
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
            data_root=data_root,
            data_mode=data_mode,
            ann_file='annotations/person_keypoints_train2017.json',
            data_prefix=dict(img='train2017/'),
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
    dataset=dict(
        type=dataset_type,
        data_root=data_root,
        data_mode=data_mode,
        ann_file='annotations/person_keypoints_val2017.json',
        data_prefix=dict(img='val2017/'),
        test_mode=True,
        pipeline=val_pipeline,
    ),
)
test_dataloader = val_dataloader
