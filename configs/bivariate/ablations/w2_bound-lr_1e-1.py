_base_ = ['../w2_bound.py']
optim_wrapper = dict(optimizer=dict(lr=1e-1))
