# The likelihood alone from a trained mean, with TIC:
# --cfg-options load_from=work_dirs/homoscedastic/epoch_5.pth
_base_ = ['../_base_/pose_movenet_tic.py']
