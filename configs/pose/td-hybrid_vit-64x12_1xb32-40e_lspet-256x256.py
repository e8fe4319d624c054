# A ViT of CPU size on LSPET alone, a tenth held out: w2_bound for 8 epochs, then the likelihood.
_base_ = [
    '../_base_/pose_runtime.py',
    '../_base_/models/vit_64.py',
    '../_base_/datasets/lspet.py',
]
model = dict(head=dict(decoder=_base_.codec, objective=dict(type='W2BoundObjective')))
train_dataloader = dict(dataset=dict(file='data/pseudo_labels/lspet.npz'))
train_cfg = dict(max_epochs=40)
custom_hooks = [
    *_base_.custom_hooks,
    dict(
        type='ObjectiveSwitchHook',
        switches=[dict(epoch=8, objective=dict(type='NLLObjective'))],
    ),
]
