# As anchored, with the tails of a Student-t:
# --cfg-options load_from=work_dirs/homoscedastic/epoch_5.pth
_base_ = ['./td-anchored_movenet-thunder_1xb32-5e_lspet-256x256.py']
model = dict(
    head=dict(
        objective=dict(_delete_=True, type='StudentNLLObjective', prior=0.02),
        covariance=dict(
            _delete_=True,
            type='StudentCovariance',
            scale=dict(type='AnchoredCovariance', floor=1e-2),
        ),
    )
)
train_cfg = dict(max_epochs=3)
param_scheduler = [
    dict(type='CosineAnnealingLR', T_max=3, eta_min=1e-5, convert_to_iter_based=True)
]
