# MPII (persons with all joints), the first half of LSP and LSPET, merged to LSP's 14 joints.
# The second half of LSP, which none of them contains, is held out.
_base_ = ['../pipelines/crop_256.py']
dataset_type = 'MergedDataset'
data_mode = 'topdown'

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
        pipeline=_base_.train_pipeline,
    ),
)
val_dataloader = dict(
    batch_size=32,
    num_workers=2,
    persistent_workers=True,
    drop_last=False,
    sampler=dict(type='DefaultSampler', shuffle=False, round_up=False),
    dataset=dict(type='LSPDataset', split='second', test_mode=True, pipeline=_base_.val_pipeline),
)
test_dataloader = val_dataloader
