_base_ = ['../anchored.py']
method = _base_.method
method.phases[0].covariance.floor = 1e-2
