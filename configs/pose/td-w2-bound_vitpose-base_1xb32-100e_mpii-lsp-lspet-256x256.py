# w2_bound with pseudo-labels alone, for all 100 epochs.
_base_ = [
    '../_base_/pose_runtime.py',
    '../_base_/models/vitpose_base.py',
    '../_base_/datasets/mpii_lsp_lspet.py',
]
model = dict(head=dict(decoder=_base_.codec, objective=dict(type='W2BoundObjective')))
train_dataloader = dict(dataset=dict(file='data/pseudo_labels/mpii-lsp-lspet.npz'))
