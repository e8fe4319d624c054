# Four epochs from a trained mean (load_from), with TIC: the hybrid and its parts share all but the
# objective.
_base_ = ['./pose_movenet.py']
model = dict(
    head=dict(
        objective=dict(type='NLLObjective'),
        covariance=dict(type='TaylorInducedCovariance', order='gradient', floor=1e-2),
    )
)
train_dataloader = dict(dataset=dict(file='data/pseudo_labels/lspet-thunder.npz'))
train_cfg = dict(max_epochs=4)
param_scheduler = [
    dict(type='CosineAnnealingLR', T_max=4, eta_min=1e-5, convert_to_iter_based=True)
]
