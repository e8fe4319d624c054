_base_ = ['../nll.py']
optim_wrapper = dict(optimizer=dict(lr=1e-1))
