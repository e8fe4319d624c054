_base_ = ['../nll_tic.py']
floor = 1e-2
