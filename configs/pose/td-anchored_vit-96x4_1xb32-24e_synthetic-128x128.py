# The bound first, as in the hybrid; then a covariance that starts at the residuals' own and learns
# what varies.
_base_ = ['./td-hybrid_vit-96x4_1xb32-24e_synthetic-128x128.py']
custom_hooks = [
    dict(
        type='ObjectiveSwitchHook',
        switches=[
            dict(
                epoch=4,
                objective=dict(type='AnchoredNLLObjective', prior=0.1),
                covariance=dict(type='AnchoredCovariance', floor=1e-3),
            )
        ],
    ),
    dict(type='RefreshAnchorHook'),
    dict(type='SyncBuffersHook'),
]
