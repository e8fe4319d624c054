# Frozen MoveNet Thunder on LSPET, a tenth held out; squared error and one covariance for all.
_base_ = [
    '../_base_/pose_runtime.py',
    '../_base_/models/movenet_thunder.py',
    '../_base_/datasets/lspet_features.py',
]
model = dict(
    head=dict(
        decoder=_base_.codec,
        objective=dict(type='MSEObjective'),
        covariance=dict(_delete_=True, type='ConstantCovariance', floor=1e-2),
    )
)
train_cfg = dict(max_epochs=8)
