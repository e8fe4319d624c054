# The paper's hybrid with ResNet-50.
_base_ = [
    '../_base_/pose_hybrid.py',
    '../_base_/models/resnet50.py',
    '../_base_/datasets/mpii_lsp_lspet.py',
]
model = dict(head=dict(decoder=_base_.codec, objective=dict(type='W2BoundObjective')))
train_dataloader = dict(dataset=dict(file='data/pseudo_labels/mpii-lsp-lspet.npz'))
