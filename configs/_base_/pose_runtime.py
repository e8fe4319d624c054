# What every pose config shares: the paper's schedule, hooks and evaluator.
default_scope = 'mmpose'
custom_imports = dict(imports=['hetpose'], allow_failed_imports=False)

train_cfg = dict(by_epoch=True, max_epochs=100, val_interval=5)
val_cfg = dict()
test_cfg = dict()

optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='Adam', lr=1e-3))
auto_scale_lr = dict(base_batch_size=32)

default_hooks = dict(
    timer=dict(type='IterTimerHook'),
    logger=dict(type='LoggerHook', interval=50),
    param_scheduler=dict(type='ParamSchedulerHook'),
    checkpoint=dict(
        type='CheckpointHook',
        interval=5,
        max_keep_ckpts=2,
        save_best='pose/nll',
        rule='less',
        save_param_scheduler=False,  # TrainingLossPlateauHook keeps its own state
    ),
    sampler_seed=dict(type='DistSamplerSeedHook'),
    visualization=dict(type='PoseVisualizationHook', enable=False),
)
custom_hooks = [
    dict(type='TrainingLossPlateauHook', factor=0.25, patience=10, min_lr=1e-6),
    dict(type='RefreshAnchorHook'),
    dict(type='SyncBuffersHook'),
]

env_cfg = dict(
    cudnn_benchmark=False,
    mp_cfg=dict(mp_start_method='fork', opencv_num_threads=0),
    dist_cfg=dict(backend='nccl'),
)
visualizer = dict(
    type='HetPoseVisualizer', vis_backends=[dict(type='LocalVisBackend')], name='visualizer'
)
log_processor = dict(type='LogProcessor', window_size=50, by_epoch=True, num_digits=6)
log_level = 'INFO'
