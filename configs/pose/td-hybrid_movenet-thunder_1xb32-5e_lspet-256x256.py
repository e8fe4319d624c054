# Frozen MoveNet Thunder on LSPET: the paper's hybrid, w2_bound for 1 epoch, then nll, with TIC.
_base_ = ['../_base_/pose_movenet.py']
model = dict(head=dict(objective=dict(type='W2BoundObjective')))
train_dataloader = dict(dataset=dict(file='data/pseudo_labels/lspet-thunder.npz'))
custom_hooks = [
    *_base_.custom_hooks,
    dict(
        type='ObjectiveSwitchHook',
        switches=[dict(epoch=1, objective=dict(type='NLLObjective'))],
    ),
]
