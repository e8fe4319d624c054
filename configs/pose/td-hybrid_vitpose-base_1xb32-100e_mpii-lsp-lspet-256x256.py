# The paper's hybrid: w2_bound with pseudo-labels for 20 epochs, then the likelihood.
_base_ = [
    '../_base_/pose_runtime.py',
    '../_base_/models/vitpose_base.py',
    '../_base_/datasets/mpii_lsp_lspet.py',
]
model = dict(head=dict(decoder=_base_.codec, objective=dict(type='W2BoundObjective')))
train_dataloader = dict(dataset=dict(file='data/pseudo_labels/mpii-lsp-lspet.npz'))
custom_hooks = [
    *_base_.custom_hooks,
    dict(
        type='ObjectiveSwitchHook',
        switches=[dict(epoch=20, objective=dict(type='NLLObjective'))],
    ),
]
val_evaluator = dict(type='HeteroscedasticPoseMetric', heatmap_size=(64, 64), head_joints=(12, 13))
test_evaluator = val_evaluator
