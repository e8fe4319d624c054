_base_ = ['../hybrid.py']
# The exact distance, instead of its bound, before the switch.
method = dict(objective=dict(type='W2Objective'))
