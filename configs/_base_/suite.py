# What the regression suites share. A suite is driven by these variables alone, from the command
# line as --cfg-options or from Python; hetpose.engine.suite fills in all that follows:
#   dataset   name within the suite's source (a UCI set, a sinusoid, a dimension)
#   trial     seed of columns, split, initial weights and batches: equal for every method
#   protocol  'heldout' (80/10/10; weights chosen on the middle part) or 'paper' (all on all)
#   epochs    training epochs of each network
#   warmup    train the mean alone for half the epochs first
#   floor     smallest variance, in the units of the (standardised) targets
#   method    the leaf's objective, covariance and phases: see methods/
default_scope = 'mmpose'
custom_imports = dict(imports=['hetpose.registration'], allow_failed_imports=False)
runner_type = 'SuiteRunner'

trial = 0
protocol = 'heldout'
epochs = 100
warmup = False
floor = 1e-3

model = dict(
    type='HeteroscedasticRegressor',
    in_dim=1,
    out_dim=1,
    objective=dict(type='MSEObjective'),
    network=dict(type='ResidualMLP', blocks=5, activation='elu'),
)
train_dataloader = dict(
    batch_size=32,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=True),
    collate_fn=dict(type='whole_batch'),
    dataset=dict(type='RegressionDataset', split='train'),
)
val_dataloader = dict(
    batch_size=1024,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    collate_fn=dict(type='whole_batch'),
    dataset=dict(type='RegressionDataset', split='val'),
)
test_dataloader = dict(
    batch_size=1024,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    collate_fn=dict(type='whole_batch'),
    dataset=dict(type='RegressionDataset', split='test'),
)
val_evaluator = dict(type='RegressionMetric')
test_evaluator = dict(type='RegressionMetric')

optim_wrapper = dict(
    type='OptimWrapper',
    constructor='TwoNetworkConstructor',
    optimizer=dict(type='AdamW', lr=3e-4, weight_decay=0.01),
)
train_cfg = dict(by_epoch=True, val_interval=5)
val_cfg = dict()
test_cfg = dict()

default_hooks = dict(
    logger=dict(type='LoggerHook', interval=1000),
    history=dict(type='ShortHistoryHook'),
    checkpoint=dict(
        type='CheckpointHook', interval=20, max_keep_ckpts=1, save_param_scheduler=False
    ),
)
custom_hooks = [
    dict(type='TrainingLossPlateauHook', factor=0.25, patience=10, min_lr=1e-6),
    dict(type='RefreshAnchorHook'),
    dict(type='KeepBestHook'),
    dict(type='SyncBuffersHook'),
    dict(type='CostHook'),
]
log_level = 'INFO'
