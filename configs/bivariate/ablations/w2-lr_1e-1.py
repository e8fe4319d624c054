_base_ = ['../w2.py']
optim_wrapper = dict(optimizer=dict(lr=1e-1))
