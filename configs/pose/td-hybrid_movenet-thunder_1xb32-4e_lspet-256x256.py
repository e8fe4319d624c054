# The paper's hybrid from a trained mean: w2_bound for 1 epoch, then nll, with TIC:
# --cfg-options load_from=work_dirs/homoscedastic/epoch_5.pth
_base_ = ['../_base_/pose_movenet_tic.py']
model = dict(head=dict(objective=dict(type='W2BoundObjective')))
custom_hooks = [
    *_base_.custom_hooks,
    dict(
        type='ObjectiveSwitchHook',
        switches=[dict(epoch=1, objective=dict(type='NLLObjective'))],
    ),
]
