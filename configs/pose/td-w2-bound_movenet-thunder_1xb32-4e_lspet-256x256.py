# w2_bound alone from a trained mean, with TIC:
# --cfg-options load_from=work_dirs/homoscedastic/epoch_5.pth
_base_ = ['../_base_/pose_movenet_tic.py']
model = dict(head=dict(objective=dict(type='W2BoundObjective')))
