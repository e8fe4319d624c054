# LSPET alone, a tenth of it held out by a fixed seed.
_base_ = ['../loaders.py', '../pipelines/crop_256.py']
dataset_type = 'LSPETDataset'
data_mode = 'topdown'

train_dataloader = dict(
    dataset=dict(
        dataset=dict(type=dataset_type, split='train', heldout=0.1, split_seed=0),
        pipeline=_base_.train_pipeline,
    )
)
val_dataloader = dict(
    dataset=dict(
        type=dataset_type,
        split='heldout',
        heldout=0.1,
        split_seed=0,
        pipeline=_base_.val_pipeline,
    )
)
test_dataloader = val_dataloader
val_evaluator = dict(type='HeteroscedasticPoseMetric', heatmap_size=(64, 64), head_joints=(12, 13))
test_evaluator = val_evaluator
