_base_ = ['../w2_bound.py']
floor = 1e-2
