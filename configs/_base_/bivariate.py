# Problem 1: no network, only a mean and a covariance to move; the trajectory is recorded.
_base_ = ['./suite.py']
source = dict(type='BivariateSource')
dataset = 'far'
protocol = 'paper'
model = dict(network=dict(_delete_=True, type='FreeVector'))
optim_wrapper = dict(optimizer=dict(lr=1e-2, weight_decay=0.0))
custom_hooks = [dict(type='CostHook'), dict(type='TrajectoryHook', interval=2)]
