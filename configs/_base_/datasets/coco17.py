# COCO's 17 joints through mmpose's own data set; any set in its format fits in its place. (Not
# called coco.py: mmpose would take that for its metainfo file.)
_base_ = ['../pipelines/crop_256.py']
dataset_type = 'CocoDataset'
data_mode = 'topdown'
data_root = '{{$HETPOSE_DATA:data}}/coco/'

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
        pipeline=_base_.train_pipeline,
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
        pipeline=_base_.val_pipeline,
    ),
)
test_dataloader = val_dataloader
