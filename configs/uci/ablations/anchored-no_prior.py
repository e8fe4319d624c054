_base_ = ['../anchored.py']
method = _base_.method
method.phases[0].objective.prior = 0.0
