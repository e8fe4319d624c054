# The mean of the homoscedastic run, held fixed, with a covariance that starts at that of its
# residuals and reads the heatmaps: --cfg-options load_from=work_dirs/homoscedastic/epoch_5.pth
_base_ = ['../_base_/pose_movenet.py']
model = dict(
    head=dict(
        temperature=60,
        objective=dict(type='AnchoredNLLObjective', prior=0.02),
        objective_weight=1.0,
        heatmap_evidence=True,
        covariance=dict(_delete_=True, type='AnchoredCovariance', floor=1e-2),
    ),
    test_cfg=dict(flip_mode='heatmap'),
)
optim_wrapper = dict(clip_grad=dict(max_norm=50))
custom_hooks = [*_base_.custom_hooks, dict(type='FreezeEstimateHook')]
