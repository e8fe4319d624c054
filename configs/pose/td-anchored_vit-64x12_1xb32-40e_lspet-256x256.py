# A ViT of CPU size on LSPET alone; the covariance starts at that of the residuals.
_base_ = [
    '../_base_/pose_runtime.py',
    '../_base_/models/vit_64.py',
    '../_base_/datasets/lspet.py',
]
model = dict(
    head=dict(
        decoder=_base_.codec,
        covariance=dict(_delete_=True, type='AnchoredCovariance', floor=1e-2),
    )
)
train_cfg = dict(max_epochs=40)
