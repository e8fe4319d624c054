# The likelihood of a Taylor-induced covariance alone, for all 100 epochs.
_base_ = [
    '../_base_/pose_runtime.py',
    '../_base_/models/vitpose_base.py',
    '../_base_/datasets/mpii_lsp_lspet.py',
]
model = dict(head=dict(decoder=_base_.codec))
