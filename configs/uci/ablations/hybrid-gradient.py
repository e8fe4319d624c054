_base_ = ['../hybrid.py']
# The Taylor-induced covariance without the Hessian's term.
method = _base_.method
method.phases[0].covariance.order = 'gradient'
