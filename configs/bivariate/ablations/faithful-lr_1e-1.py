_base_ = ['../faithful.py']
optim_wrapper = dict(optimizer=dict(lr=1e-1))
