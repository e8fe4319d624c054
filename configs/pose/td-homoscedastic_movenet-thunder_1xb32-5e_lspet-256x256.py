# Frozen MoveNet Thunder on LSPET, a tenth held out; squared error and one covariance for all.
_base_ = ['../_base_/pose_movenet.py']
model = dict(
    head=dict(
        objective=dict(type='MSEObjective'),
        covariance=dict(_delete_=True, type='ConstantCovariance', floor=1e-2),
    )
)
