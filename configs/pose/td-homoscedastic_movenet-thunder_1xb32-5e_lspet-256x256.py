# Frozen MoveNet Thunder on LSPET, a tenth held out; squared error and one covariance for all.
# The plain crops and one augmented view of each: hetpose feature-views … --views 2.
_base_ = ['../_base_/pose_movenet.py']
model = dict(
    head=dict(
        objective=dict(type='MSEObjective'),
        covariance=dict(_delete_=True, type='ConstantCovariance', floor=1e-2),
    )
)
train_dataloader = dict(dataset=dict(views=2))
