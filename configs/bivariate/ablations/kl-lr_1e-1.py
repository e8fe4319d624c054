_base_ = ['../kl.py']
optim_wrapper = dict(optimizer=dict(lr=1e-1))
