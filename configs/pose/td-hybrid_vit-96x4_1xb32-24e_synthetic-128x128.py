# The demo at length: what the hybrid learns of a known label noise in half an hour.
_base_ = [
    '../_base_/pose_runtime.py',
    '../_base_/models/vit_96.py',
    '../_base_/datasets/synthetic_pose.py',
]
model = dict(head=dict(decoder=_base_.codec, objective=dict(type='W2BoundObjective')))
train_dataloader = dict(dataset=dict(dataset=dict(length=8000)))
val_dataloader = dict(dataset=dict(length=300))
train_cfg = dict(max_epochs=24, val_interval=1)
optim_wrapper = dict(optimizer=dict(lr=2e-3), clip_grad=dict(max_norm=100.0))
param_scheduler = [
    dict(type='LinearLR', start_factor=0.1, begin=0, end=100, by_epoch=False),
    dict(type='LinearLR', start_factor=0.1, begin=1000, end=1100, by_epoch=False),  # the switch
    dict(type='CosineAnnealingLR', T_max=24, by_epoch=True, convert_to_iter_based=True),
]
default_hooks = dict(checkpoint=dict(save_param_scheduler=True))
custom_hooks = [
    dict(
        type='ObjectiveSwitchHook',
        switches=[dict(epoch=4, objective=dict(type='NLLObjective'))],
    )
]
val_evaluator = dict(type='HeteroscedasticPoseMetric', heatmap_size=(32, 32), head_joints=(12, 13))
test_evaluator = val_evaluator
