# Frozen MoveNet Thunder on LSPET: w2_bound alone, with TIC.
_base_ = ['../_base_/pose_movenet.py']
model = dict(head=dict(objective=dict(type='W2BoundObjective')))
train_dataloader = dict(dataset=dict(file='data/pseudo_labels/lspet-thunder.npz'))
