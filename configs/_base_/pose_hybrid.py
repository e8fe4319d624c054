# The paper's hybrid: after 20 epochs of the bound, the likelihood.
_base_ = ['./pose_runtime.py']
custom_hooks = [
    *_base_.custom_hooks,
    dict(
        type='ObjectiveSwitchHook',
        switches=[dict(epoch=20, objective=dict(type='NLLObjective'))],
    ),
]
