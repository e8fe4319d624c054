_base_ = ['../w2_bound.py']
# Pseudo-labels of the residuals of a local linear fit, instead of the targets themselves.
source = dict(local_linear=True)
