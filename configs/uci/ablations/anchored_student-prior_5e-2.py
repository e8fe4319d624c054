_base_ = ['../anchored_student.py']
method = _base_.method
method.phases[0].objective.prior = 0.05
