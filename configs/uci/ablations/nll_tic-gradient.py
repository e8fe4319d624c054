_base_ = ['../nll_tic.py']
# The Taylor-induced covariance without the Hessian's term.
method = dict(covariance=dict(order='gradient'))
