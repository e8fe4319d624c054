# Frozen MoveNet Thunder on the feature maps of LSPET, a tenth held out: what the methods share.
_base_ = [
    './pose_runtime.py',
    './models/movenet_thunder.py',
    './datasets/lspet_features.py',
]
model = dict(head=dict(decoder=_base_.codec, objective_weight=0.01))
train_cfg = dict(max_epochs=5, val_interval=1)
param_scheduler = [
    dict(type='CosineAnnealingLR', T_max=5, eta_min=1e-5, convert_to_iter_based=True)
]
custom_hooks = [dict(type='RefreshAnchorHook')]
default_hooks = dict(
    checkpoint=dict(interval=1, save_best=None, save_param_scheduler=True),
    logger=dict(interval=20),
)
