# The demo at length: what the hybrid learns of a known label noise in half an hour.
_base_ = ['./td-hybrid_vit-96x4_1xb32-8e_synthetic-128x128.py']
train_dataloader = dict(dataset=dict(dataset=dict(length=8000)))  # 250 steps an epoch
train_cfg = dict(max_epochs=24)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.1, begin=0, end=100, by_epoch=False),
    dict(type='LinearLR', start_factor=0.1, begin=1000, end=1100, by_epoch=False),  # the switch
    dict(type='CosineAnnealingLR', T_max=24, by_epoch=True, convert_to_iter_based=True),
]
custom_hooks = [
    dict(
        type='ObjectiveSwitchHook',
        switches=[dict(epoch=4, objective=dict(type='NLLObjective'))],
    ),
    dict(type='SyncBuffersHook'),
]
