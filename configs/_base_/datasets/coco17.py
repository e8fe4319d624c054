# COCO's 17 joints through mmpose's own data set; any set in its format fits in its place. (Not
# called coco.py: mmpose would take that for its metainfo file.)
_base_ = ['../loaders.py', '../pipelines/crop_256.py']
dataset_type = 'CocoDataset'
data_mode = 'topdown'
data_root = '{{$HETPOSE_DATA:data}}/coco/'

train_dataloader = dict(
    dataset=dict(
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
    dataset=dict(
        type=dataset_type,
        data_root=data_root,
        data_mode=data_mode,
        ann_file='annotations/person_keypoints_val2017.json',
        data_prefix=dict(img='val2017/'),
        pipeline=_base_.val_pipeline,
    ),
)
test_dataloader = val_dataloader
val_evaluator = dict(type='HeteroscedasticPoseMetric', heatmap_size=(64, 64))
test_evaluator = val_evaluator
