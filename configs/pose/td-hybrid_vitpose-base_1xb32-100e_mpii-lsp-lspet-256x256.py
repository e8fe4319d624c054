# The paper's hybrid: w2_bound with pseudo-labels for 20 epochs, then the likelihood.
_base_ = [
    '../_base_/pose_hybrid.py',
    '../_base_/models/vitpose_base.py',
    '../_base_/datasets/mpii_lsp_lspet.py',
]
model = dict(head=dict(decoder=_base_.codec, objective=dict(type='W2BoundObjective')))
train_dataloader = dict(dataset=dict(file='data/pseudo_labels/mpii-lsp-lspet.npz'))
