# How pose data are read: shuffled, with pseudo-labels, to train; in order to test.
train_dataloader = dict(
    batch_size=32,
    num_workers=2,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(
        type='PseudoLabelDataset',
        file=None,  # written by tools/pseudo_labels.py, for objectives with a target covariance
        recipe=dict(dimension=32),
    ),
)
val_dataloader = dict(
    batch_size=32,
    num_workers=2,
    persistent_workers=True,
    drop_last=False,
    sampler=dict(type='DefaultSampler', shuffle=False, round_up=False),
    dataset=dict(test_mode=True),
)
test_dataloader = val_dataloader
