# LSPET alone, a tenth of it held out by a fixed seed.
_base_ = ['../pipelines/crop_256.py']
dataset_type = 'LSPETDataset'
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
        dataset=dict(type=dataset_type, split='train', heldout=0.1, split_seed=0),
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
        split='heldout',
        heldout=0.1,
        split_seed=0,
        test_mode=True,
        pipeline=_base_.val_pipeline,
    ),
)
test_dataloader = val_dataloader
