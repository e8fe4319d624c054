# MPII (persons with all joints), the first half of LSP and LSPET, merged to LSP's 14 joints.
# The second half of LSP, which none of them contains, is held out.
_base_ = ['../loaders.py', '../pipelines/crop_256.py']
dataset_type = 'MergedDataset'
data_mode = 'topdown'

train_dataloader = dict(
    dataset=dict(
        dataset=dict(
            type=dataset_type,
            datasets=[
                dict(type='MPII14Dataset'),
                dict(type='LSPDataset', split='first'),
                dict(type='LSPETDataset'),
            ],
        ),
        pipeline=_base_.train_pipeline,
    ),
)
val_dataloader = dict(
    dataset=dict(type='LSPDataset', split='second', pipeline=_base_.val_pipeline)
)
test_dataloader = val_dataloader
val_evaluator = dict(type='HeteroscedasticPoseMetric', heatmap_size=(64, 64), head_joints=(12, 13))
test_evaluator = val_evaluator
